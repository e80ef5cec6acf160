package decide

import (
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Restore records that the workflow's past was restored from a backup, and pauses it until a person resumes it: what
// was sent after the backup is not known here. With the installation it revokes every named token and closes every
// login, since a revocation may be among what the backup does not hold. An archived workflow stays as it is.
type Restore struct{ Fact eventlog.LogRestored }

func (Restore) names(*projections.State, func(projections.Key)) {}

func (c Restore) decide(d *decision) error {
	d.lead(&c.Fact)
	for _, token := range slices.Clone(d.state().Tokens) {
		d.emit(&eventlog.TokenRevoked{Name: token.Name})
	}
	d.closeLogins(func(projections.Login) bool { return true })
	return nil
}

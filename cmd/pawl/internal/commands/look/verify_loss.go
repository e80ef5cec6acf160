package look

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// incomplete reports that damaged parts could not be set aside, since the log has no space to remember them; or that
// --names-known did not count, since another loss was accepted by the same command.
func (c *Verify) incomplete(screen term.Screen, r storage.Accepted) error {
	if len(r.Broken) == 0 && !(c.NamesKnown && r.NamesLost) {
		return nil
	}
	if c.NamesKnown && r.NamesLost {
		fmt.Fprintln(screen.Err, "pawl: a loss was accepted just now, so unknown names are still held; "+
			"look at what is lost first, then repeat this command")
	}
	if len(r.Broken) > 0 {
		fmt.Fprintln(screen.Err, "pawl: the log has no space to remember all that is to be set aside; repeating this "+
			"command does not change that. What stays out of service is named above, with the way to go on.")
	}
	return exit.Silent(exit.CodeFailed)
}

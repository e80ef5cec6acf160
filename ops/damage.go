package ops

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// mostDamage bounds how many problems of a damaged log diagnostics lists.
const mostDamage = 100

// damage is what this process was shown of a damaged log: by reading, folding or verifying it. A log
// does not heal by being read again, so it stands until a check of the whole log finds nothing.
type damage struct {
	mu    sync.Mutex
	found []string
	more  int
}

// saw adds what a read or a fold came to.
func (d *damage) saw(problem string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(problem)
}

func (d *damage) add(problem string) {
	switch {
	case slices.Contains(d.found, problem):
	case len(d.found) == mostDamage:
		d.more++
	default:
		d.found = append(d.found, problem)
	}
}

// verified takes the word of a check of the whole log for everything that was found before.
func (d *damage) verified(v Verification) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found, d.more = nil, 0
	for _, problem := range v.ofLog {
		d.add(problem)
	}
}

func (d *damage) problems() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	problems := slices.Clone(d.found)
	if d.more > 0 {
		problems = append(problems, fmt.Sprintf("and %d more: pawl verify lists all", d.more))
	}
	return problems
}

// damaged reports whether the error says that a part of the log is lost or cannot be read.
func damaged(err error) bool {
	return errors.Is(err, eventlog.ErrDamaged) || errors.Is(err, eventlog.ErrUnreadable)
}

// foldedFrom says what a record that cannot be folded means where every record comes from the log: it
// lacks one, or holds one that nobody recorded.
func foldedFrom(err error) error {
	if errors.Is(err, projections.ErrBroken) && !damaged(err) {
		return fmt.Errorf("%w: %w", eventlog.ErrDamaged, err)
	}
	return err
}

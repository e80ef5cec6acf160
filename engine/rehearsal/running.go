package rehearsal

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

// running is a case on its stage.
type running struct {
	*stage
	expected int // how many of the changes were expected so far
	// awaited is what the case has said that the workflow waits for, since something was done.
	awaited []*Step
	// seen are the events that the case has listed, true for those whose status it has named.
	seen    map[eventlog.EventRef]bool
	crashed int  // the line of the newest crash step
	stopped bool // the case has let one run end, and done nothing since
}

// missingCrash is the problem of a crash that has not come: what follows it would prove nothing.
func (r *running) missingCrash() []Problem {
	fact, armed := r.life.armed()
	if !armed {
		return nil
	}
	return []Problem{{Line: r.crashed, Message: fmt.Sprintf("the engine did not crash: nothing has written %s after this "+
		"step. Put it before the step that the crash is to interrupt, and one crash at a time", fact)}}
}

// lacking is what the case lacks, as was found since it was asked last.
func (r *running) lacking(line int) (problems []Problem) {
	for _, text := range r.outside.lacks() {
		problems = append(problems, Problem{Line: line, Message: text})
	}
	return problems
}

package rehearsal

import (
	"fmt"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/eventlog"
)

// Report is what the tests of a script came to.
type Report struct {
	Workflow eventlog.WorkflowName `json:"workflow"`
	Cases    []Outcome             `json:"cases"`
	Coverage Coverage              `json:"coverage"`
	// Refused are the problems for which the script would not be deployed: no case has run then.
	Refused []deploy.Problem `json:"refused,omitempty"`
}

// OK reports whether all cases have passed.
func (r *Report) OK() bool {
	for _, c := range r.Cases {
		if len(c.Problems) > 0 {
			return false
		}
	}
	return len(r.Refused) == 0
}

// Outcome is what one case came to. A case without problems has passed.
type Outcome struct {
	Name     string    `json:"name"`
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is why a case has failed.
type Problem struct {
	// Line is that of the test file, 0 for what belongs to no step.
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	// Differences are the parts that are not as expected: before is what was expected, after what there was.
	Differences []difference.Difference `json:"differences,omitempty"`
}

func problemf(format string, args ...any) []Problem {
	return []Problem{{Message: fmt.Sprintf(format, args...)}}
}

package node

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/eventlog"
)

// Accepted is what accepting a loss came to.
type Accepted struct {
	// Lost has a line for everything that is missing.
	Lost []string `json:"lost"`
	// Held workflows may lack their newest transitions; of those in SetAside it is known which count no
	// more. Broken ones stay out of service.
	Held     []eventlog.WorkflowName          `json:"held"`
	SetAside map[eventlog.WorkflowName]string `json:"setAside"`
	Broken   []eventlog.WorkflowName          `json:"broken"`
	// Skipped counts, by workflow, the events that may have been handled: only a redrive that says so brings them
	// back. Mutations of those in Asks need approval.
	Skipped map[eventlog.WorkflowName]int `json:"skipped,omitempty"`
	Asks    []eventlog.WorkflowName       `json:"asks,omitempty"`
	// Foreign messages of no workflow were set aside.
	Foreign int `json:"foreign"`
	// GivenUp are the mutation calls whose records are given up; Report is the file that lists them, empty
	// when there are none.
	GivenUp int    `json:"givenUp"`
	Report  string `json:"report,omitempty"`
	// TokensRevoked says that no named token opens anything any more.
	TokensRevoked bool `json:"tokensRevoked"`
}

// TokensRevoked says what a loss has done to named tokens.
const TokensRevoked = "every named token is revoked, since a revocation may be among what is lost; " +
	"make new ones: pawl tokens create NAME --role ROLE"

// add adds what became of one workflow's past.
func (r *Accepted) add(past loss.LostPast) {
	if past.Workflow == eventlog.Installation && !past.Broken {
		r.TokensRevoked = true
		return
	}
	if past.Workflow == "" {
		r.Foreign += past.SetAside.Transitions
		if past.Broken {
			r.Broken = append(r.Broken, "")
		}
		return
	}
	if past.Skipped > 0 {
		if r.Skipped == nil {
			r.Skipped = map[eventlog.WorkflowName]int{}
		}
		r.Skipped[past.Workflow] = past.Skipped
	}
	if past.Asks {
		r.Asks = append(r.Asks, past.Workflow)
	}
	if past.SetAside != nil {
		r.SetAside[past.Workflow] = past.SetAside.String()
	}
	if past.Broken {
		r.Broken = append(r.Broken, past.Workflow)
	} else {
		r.Held = append(r.Held, past.Workflow)
	}
}

// Ended says of which workflows events were ended that may not be done yet, and which calls need a person now.
func (r *Accepted) Ended() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Skipped)) {
		lines = append(lines, fmt.Sprintf(
			"%s: %s skipped, since it is not known whether they were handled. "+
				"They are among: pawl jobs list --workflow %s --state cancelled; "+
				"those that were not done come back with: pawl redrive %s TOPIC MESSAGE-ID --including-unknown",
			name, term.Plural(r.Skipped[name], "event"), name, name))
	}
	for _, name := range r.Asks {
		lines = append(lines, fmt.Sprintf("%s: mutations ask for approval (grant `ask`). The grants: pawl grants %s", name,
			name))
	}
	return lines
}

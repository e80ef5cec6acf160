package storage

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/eventlog"
)

// Accepted is the result of the acceptance of a loss.
type Accepted struct {
	// Lost has a line for everything that is missing.
	Lost []string `json:"lost"`
	// Held workflows may lack their newest transitions. SetAside says, for workflows where that is known, which of the
	// transitions that are left do not count any more. Broken ones stay out of service.
	Held     []eventlog.WorkflowName          `json:"held"`
	SetAside map[eventlog.WorkflowName]string `json:"setAside"`
	Broken   []eventlog.WorkflowName          `json:"broken"`
	// Skipped counts, by workflow, the events that may have been handled: only a redrive with --including-unknown
	// brings them back. The mutations of the workflows in Asks need approval.
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
	// Before are workflows that earlier acceptances hold.
	Before []HeldBefore `json:"before,omitempty"`
	// NamesLost says that a workflow whose name the log does not know is held at its first deploy; NamesKnown that a
	// person has ended that.
	NamesLost  bool `json:"namesLost,omitempty"`
	NamesKnown bool `json:"namesKnown,omitempty"`
}

// HeldBefore is a workflow that an earlier acceptance holds until a person resumes it.
type HeldBefore struct {
	Workflow eventlog.WorkflowName `json:"workflow"`
	Why      string                `json:"why"`
	// GivenUp counts its calls that were given up, Undecided its events that may have been handled.
	GivenUp   int `json:"givenUp"`
	Undecided int `json:"undecided"`
}

// Changed reports whether anything was found that had to be accepted.
func (r *Accepted) Changed() bool {
	return len(r.Lost) > 0 || len(r.Held) > 0 || len(r.SetAside) > 0 || r.Foreign > 0 || r.TokensRevoked
}

// Earlier says what a person still has to do after earlier acceptances.
func (r *Accepted) Earlier() (lines []string) {
	for _, held := range r.Before {
		line := fmt.Sprintf("%s is held since an earlier acceptance: %s. Look at the other side, then: pawl resume %s",
			held.Workflow, held.Why, held.Workflow)
		if held.GivenUp > 0 {
			line += fmt.Sprintf("; %s of it given up: pawl mutations list --workflow %s --status given_up",
				term.Plural(held.GivenUp, "mutation call"), held.Workflow)
		}
		if held.Undecided > 0 {
			line += fmt.Sprintf("; %s of it may have been handled: pawl why %s", term.Plural(held.Undecided, "event"),
				held.Workflow)
		}
		lines = append(lines, line)
	}
	return lines
}

// NamesLost says what follows from a loss of names, and what to do.
const NamesLost = "a workflow may be lost with its name: a name that the log does not know is held (loss) at its " +
	"first deploy. Deploy again what you know was there; then, with the engine stopped, say that nothing else was: " +
	"pawl verify --accept-loss --names-known"

// TokensRevoked says what follows from a loss for named tokens.
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

// Ended says which workflows had events that were skipped although they may not be done, and which workflows need
// approvals now.
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

package natsservice

import "fmt"

// Rule names something that a service must keep so that its mutations are safe.
type Rule string

// The rules, in the order they are checked.
const (
	// RuleOffer: what the service says about itself can be used.
	RuleOffer Rule = "offer"
	// RuleDeadline: a request that is received after its Pawl-Deadline is refused with 503.
	RuleDeadline Rule = "deadline"
	// RuleKey: the same Idempotency-Key again has no second effect and gets the first answer.
	RuleKey Rule = "idempotency"
	// RuleReconcile: reconcile answers `failed` only if the call with that key can never be
	// applied any more, `applied` for one that was.
	RuleReconcile Rule = "reconcile"
)

// Mark is what a check found out about a rule.
type Mark string

// The marks of findings.
const (
	// Kept: the service did what the rule says, this time.
	Kept Mark = "kept"
	// Broken: the service did something that the rule forbids.
	Broken Mark = "broken"
	// Unchecked: the rule could not be tried; Text says what is missing.
	Unchecked Mark = "unchecked"
)

// Finding is one thing that a check found out.
type Finding struct {
	Rule      Rule   `json:"rule"`
	Operation string `json:"operation,omitempty"`
	Mark      Mark   `json:"mark"`
	// Text says what was tried, what happened and what to change, for people.
	Text string `json:"text"`
}

// Report is the outcome of a check.
type Report struct {
	Connector string    `json:"connector"`
	Findings  []Finding `json:"findings"`
}

// OK says whether no rule was found broken. Rules that could not be tried do not count.
func (r Report) OK() bool {
	for _, f := range r.Findings {
		if f.Mark == Broken {
			return false
		}
	}
	return true
}

func (r *Report) add(rule Rule, operation string, mark Mark, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Rule: rule, Operation: operation, Mark: mark,
		Text: fmt.Sprintf(format, args...)})
}

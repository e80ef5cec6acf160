package doctor

// Verdict says whether something is in order.
type Verdict string

// The verdicts.
const (
	// OK: it is as it should be.
	OK Verdict = "ok"
	// Weak: it works, and promises less than it could.
	Weak Verdict = "weak"
	// Problem: something does not work, or will not.
	Problem Verdict = "problem"
	// Unknown: it cannot be seen from here.
	Unknown Verdict = "unknown"
)

// Finding is the result of one check.
type Finding struct {
	Check   string  `json:"check" jsonschema:"what was looked at"`
	Verdict Verdict `json:"verdict"`
	Says    string  `json:"says" jsonschema:"what was seen"`
	Remedy  string  `json:"remedy,omitempty" jsonschema:"what to do about it; left out where nothing is to be done"`
}

// HealthReport lists findings in the order in which they were made.
type HealthReport struct {
	Findings []Finding `json:"findings"`
}

// Add adds a finding that needs no remedy.
func (r *HealthReport) Add(check string, verdict Verdict, says string) {
	r.Advise(check, verdict, says, "")
}

// Advise adds a finding with its remedy.
func (r *HealthReport) Advise(check string, verdict Verdict, says, remedy string) {
	r.Findings = append(r.Findings, Finding{check, verdict, says, remedy})
}

// Fails reports whether there is a problem.
func (r *HealthReport) Fails() bool {
	for _, f := range r.Findings {
		if f.Verdict == Problem {
			return true
		}
	}
	return false
}

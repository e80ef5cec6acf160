package eventlog

import "testing"

// A transition of a plain workflow keeps its bytes and its format; the first of a concurrent consumer asks for a
// format that an older binary refuses.
func TestFormatOfATransition(t *testing.T) {
	t.Parallel()
	deploy := func(c Consumer) *WorkflowDeployed {
		return &WorkflowDeployed{Definition: Definition{Consumers: []Consumer{c}}}
	}
	for name, c := range map[string]struct {
		workflow WorkflowName
		fact     Fact
		version  int
		format   int
	}{
		"plain deploy":      {"w", deploy(Consumer{Name: "c"}), 1, 1},
		"concurrent":        {"w", deploy(Consumer{Name: "c", Concurrency: 4}), 3, 3},
		"key alone":         {"w", deploy(Consumer{Name: "c", Key: "a.b"}), 3, 3},
		"rate alone":        {"w", deploy(Consumer{Name: "c", Rate: "1/s"}), 3, 3},
		"asks for approval": {"w", deploy(Consumer{Name: "c", Approval: ApprovalByScript}), 5, 9},
		"a dead letter":     {"w", deploy(Consumer{Name: "c", DeadLetter: "t"}), 5, 9},
		"a hook":            {"w", &WorkflowDeployed{Definition: Definition{Hooks: []Hook{{Name: "h"}}}}, 4, 4},
		"plain run":         {"w", &RunStarted{Run: "R"}, 1, 1},
		"concurrent run":    {"w", &RunStarted{Run: "R", Event: &EventRef{Topic: "t", MessageID: "m"}}, 2, 3},
		"plain prepare":     {"w", &RunPrepared{}, 1, 1},
		"empty prepare":     {"w", &RunPrepared{Empty: true}, 2, 3},
		"plain release":     {"w", &EventReleased{}, 1, 1},
		"uncounted":         {"w", &EventReleased{Uncounted: true}, 2, 3},
		"retry":             {"w", &EventRetryScheduled{Uncounted: true}, 2, 1},
		"needs attention":   {"w", &EventRetryScheduled{Attention: true}, 3, 3},
		"approval":          {"w", &MutationApproved{}, 1, 1},
		"comment":           {"w", &MutationCommented{}, 1, 3},
		"held":              {"w", &EventHeld{}, 1, 3},
		"plain call":        {"w", &MutationStarted{}, 1, 1},
		"may be resent":     {"w", &MutationStarted{Call: MutationCall{ResendMS: 1}}, 2, 5},
		"asks, resent":      {"w", &MutationApprovalRequested{Call: MutationCall{ResendMS: 1}}, 2, 5},
		"resent":            {"w", &MutationResent{}, 1, 5},
		"published":         {"w", &EventPublished{}, 1, 1},
		"traced":            {"w", &EventTraced{}, 1, 6},
		"restored":          {"w", &LogRestored{}, 1, 7},
		"the installation":  {Installation, &TokenRevoked{}, 1, 2},
		"a login":           {Installation, &LoginOpened{}, 1, 8},
		"a login's end":     {Installation, &LoginClosed{}, 1, 8},
		"resumed webhooks":  {Installation, &SubscriptionResumed{}, 1, 8},
	} {
		entry, err := NewEntry(Transition{Workflow: c.workflow, Kind: c.fact.FactType(), Facts: []Fact{c.fact}}, Head{})
		if err != nil {
			t.Fatal(err)
		}
		if got := versionOf(c.fact); got != c.version || entry.Format != c.format {
			t.Errorf("%s: version %d, format %d; want %d and %d", name, got, entry.Format, c.version, c.format)
		}
	}
	for typ, since := range concurrentFacts {
		if entry, ok := facts[typ]; !ok || since > entry.version {
			t.Errorf("there is no version %d of %s", since, typ)
		}
	}
}

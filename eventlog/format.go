package eventlog

// FormatVersion is the newest format of a log (`pawl.format` in its metadata) that this version reads; a log with
// a newer one is refused. A log gets a format with the first message that needs it: without such a message, an older
// binary reads the log as before.
const FormatVersion = formatDeadLetters

// FormatFirst is the format of a log that holds nothing of what a later one has added.
const FormatFirst = 1

const (
	// formatInstallation: the log also holds Installation, whose messages format 1 does not know.
	formatInstallation = 2
	// formatConcurrent: workflows have concurrent consumers. A binary that does not know their facts must not start:
	// it would stop these workflows in the middle of many calls. Since this format any workflow may have a comment on a
	// mutation.
	formatConcurrent = 3
	// formatHooks: workflows have hooks. A binary that does not know them must not start: it would stop these
	// workflows, and answer their senders that there is no such hook.
	formatHooks = 4
	// formatResends: calls may be sent again to find out what became of them. A binary that does not know that would
	// believe that such a call is over while it is sent again.
	formatResends = 5
	// formatTraced: events belong to traces of their senders. A binary that does not know that must not start: it would
	// stop their workflows at the first such event.
	formatTraced = 6
	// formatRestored: the log was restored from a backup. A binary that does not know that must not start: it would run
	// workflows that a person has to look at first.
	formatRestored = 7
	// formatOperators: the installation holds logins of browsers, and what people did to outgoing webhooks. A binary that
	// does not know that must not start: it would stop at the first of them, and accept no named token any more.
	formatOperators = 8
	// formatDeadLetters: consumers have calls approved although they are granted, or keep what they discard in a topic. A
	// binary that does not know that must not start: it would send what a person has to approve.
	formatDeadLetters = 9
)

// concurrentFacts are the types that concurrent consumers have added (version 1), and of older types the version from
// which on they say something of concurrent consumers.
var concurrentFacts = map[FactType]int{
	"workflow.deployed":         3,
	"run.started":               2,
	"run.prepared":              2,
	"run.retry_owed":            1,
	"run.retry_cleared":         1,
	"event.released":            2,
	"event.retry_scheduled":     3,
	"event.held":                1,
	"event.freed":               1,
	"event.deferred":            1,
	"handler.row_counted":       1,
	"handler.probe_scheduled":   1,
	"handler.probing_ended":     1,
	"handler.uncertain_counted": 1,
	"handler.repair_counted":    1,
}

// formatOf is the lowest format of a log that may hold the transition.
func formatOf(t *Transition) int {
	format := FormatFirst
	if t.Workflow == Installation {
		format = formatInstallation
	}
	for _, f := range t.Facts {
		format = max(format, formatOfFact(f))
	}
	return format
}

func formatOfFact(f Fact) int {
	switch f := f.(type) {
	case *LoginOpened, *LoginClosed, *SubscriptionResumed:
		return formatOperators
	case *LogRestored:
		return formatRestored
	case *EventTraced:
		return formatTraced
	case *MutationResent:
		return formatResends
	case *WorkflowDeployed:
		if f.Definition.hasDuties() {
			return formatDeadLetters
		}
		if len(f.Definition.Hooks) > 0 {
			return formatHooks
		}
	case *MutationCommented:
		return formatConcurrent
	}
	if resends(f) {
		return formatResends
	}
	if since, ok := concurrentFacts[f.FactType()]; ok && versionOf(f) >= since {
		return formatConcurrent
	}
	return FormatFirst
}

// resends reports whether the fact holds a call that may be sent again.
func resends(f Fact) bool {
	switch f := f.(type) {
	case *MutationApprovalRequested:
		return f.Call.Resends()
	case *MutationRefused:
		return f.Call.Resends()
	case *MutationStarted:
		return f.Call.Resends()
	case *MutationGivenUp:
		return f.Call.Resends()
	}
	return false
}

// OfConcurrent reports whether only workflows with a concurrent consumer have facts of the type. Only tests ask.
func OfConcurrent(t FactType) bool { return concurrentFacts[t] == 1 }

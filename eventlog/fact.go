package eventlog

// facts is the explicit table of all types this version writes, by name and version. Never
// derive a stored name from a Go name.
var facts = map[FactType]struct {
	version int
	make    func() Fact
}{
	"workflow.deployed":            {5, func() Fact { return new(WorkflowDeployed) }},
	"workflow.granted":             {1, func() Fact { return new(WorkflowGranted) }},
	"workflow.paused":              {1, func() Fact { return new(WorkflowPaused) }},
	"workflow.resumed":             {1, func() Fact { return new(WorkflowResumed) }},
	"workflow.blocked":             {1, func() Fact { return new(WorkflowBlocked) }},
	"workflow.unblocked":           {1, func() Fact { return new(WorkflowUnblocked) }},
	"workflow.archived":            {1, func() Fact { return new(WorkflowArchived) }},
	"workflow.maintenance_entered": {1, func() Fact { return new(MaintenanceEntered) }},
	"workflow.maintenance_left":    {1, func() Fact { return new(MaintenanceLeft) }},
	"workflow.repair_counted":      {1, func() Fact { return new(RepairCounted) }},
	"workflow.backoff_started":     {2, func() Fact { return new(BackoffStarted) }},
	"workflow.backoff_cleared":     {1, func() Fact { return new(BackoffCleared) }},
	"workflow.retry_owed":          {1, func() Fact { return new(RetryOwed) }},
	"workflow.retry_cleared":       {1, func() Fact { return new(RetryCleared) }},
	"workflow.loss_accepted":       {1, func() Fact { return new(LossAccepted) }},
	"handler.state_saved":          {1, func() Fact { return new(HandlerStateSaved) }},
	"handler.scheduled":            {1, func() Fact { return new(HandlerScheduled) }},
	"handler.wake_requested":       {1, func() Fact { return new(HandlerWakeRequested) }},
	"handler.dirtied":              {1, func() Fact { return new(HandlerDirtied) }},
	"handler.cleaned":              {1, func() Fact { return new(HandlerCleaned) }},
	"handler.failures_counted":     {1, func() Fact { return new(HandlerFailuresCounted) }},
	"handler.row_counted":          {1, func() Fact { return new(HandlerStreakCounted) }},
	"handler.probe_scheduled":      {1, func() Fact { return new(HandlerProbeScheduled) }},
	"handler.probing_ended":        {1, func() Fact { return new(HandlerProbingEnded) }},
	"handler.uncertain_counted":    {1, func() Fact { return new(HandlerUncertainCounted) }},
	"handler.repair_counted":       {1, func() Fact { return new(HandlerRepairCounted) }},
	"session.started":              {1, func() Fact { return new(SessionStarted) }},
	"session.ended":                {1, func() Fact { return new(SessionEnded) }},
	"run.started":                  {2, func() Fact { return new(RunStarted) }},
	"run.prepared":                 {2, func() Fact { return new(RunPrepared) }},
	"run.advanced":                 {1, func() Fact { return new(RunAdvanced) }},
	"run.committed":                {1, func() Fact { return new(RunCommitted) }},
	"run.failed":                   {1, func() Fact { return new(RunFailed) }},
	"run.crashed":                  {1, func() Fact { return new(RunCrashed) }},
	"run.suspended":                {1, func() Fact { return new(RunSuspended) }},
	"run.reactivated":              {1, func() Fact { return new(RunReactivated) }},
	"run.retry_owed":               {1, func() Fact { return new(RunRetryOwed) }},
	"run.retry_cleared":            {1, func() Fact { return new(RunRetryCleared) }},
	"mutation.approval_requested":  {2, func() Fact { return new(MutationApprovalRequested) }},
	"mutation.approved":            {1, func() Fact { return new(MutationApproved) }},
	"mutation.refused":             {2, func() Fact { return new(MutationRefused) }},
	"mutation.started":             {2, func() Fact { return new(MutationStarted) }},
	"mutation.applied":             {1, func() Fact { return new(MutationApplied) }},
	"mutation.failed":              {1, func() Fact { return new(MutationFailed) }},
	"mutation.skipped":             {1, func() Fact { return new(MutationSkipped) }},
	"mutation.reconcile_scheduled": {3, func() Fact { return new(MutationReconcileScheduled) }},
	"mutation.resent":              {1, func() Fact { return new(MutationResent) }},
	"mutation.left_indeterminate":  {1, func() Fact { return new(MutationLeftIndeterminate) }},
	"mutation.commented":           {1, func() Fact { return new(MutationCommented) }},
	"mutation.contradicted":        {1, func() Fact { return new(MutationContradicted) }},
	"event.published":              {1, func() Fact { return new(EventPublished) }},
	"event.traced":                 {1, func() Fact { return new(EventTraced) }},
	"event.republished":            {1, func() Fact { return new(EventRepublished) }},
	"event.reserved":               {1, func() Fact { return new(EventReserved) }},
	"event.transferred":            {1, func() Fact { return new(EventTransferred) }},
	"event.released":               {2, func() Fact { return new(EventReleased) }},
	"event.retry_scheduled":        {3, func() Fact { return new(EventRetryScheduled) }},
	"event.consumed":               {1, func() Fact { return new(EventConsumed) }},
	"event.skipped":                {1, func() Fact { return new(EventSkipped) }},
	"event.skip_requested":         {1, func() Fact { return new(EventSkipRequested) }},
	"event.discarded":              {1, func() Fact { return new(EventDiscarded) }},
	"event.redriven":               {1, func() Fact { return new(EventRedriven) }},
	"event.held":                   {1, func() Fact { return new(EventHeld) }},
	"event.freed":                  {1, func() Fact { return new(EventFreed) }},
	"event.deferred":               {1, func() Fact { return new(EventDeferred) }},
	"event.given_up":               {1, func() Fact { return new(EventGivenUp) }},
	"mutation.given_up":            {2, func() Fact { return new(MutationGivenUp) }},
	"input.registered":             {1, func() Fact { return new(InputRegistered) }},
	"input.retitled":               {1, func() Fact { return new(InputRetitled) }},
	"token.created":                {1, func() Fact { return new(TokenCreated) }},
	"token.revoked":                {1, func() Fact { return new(TokenRevoked) }},
	"login.opened":                 {1, func() Fact { return new(LoginOpened) }},
	"login.closed":                 {1, func() Fact { return new(LoginClosed) }},
	"subscription.resumed":         {1, func() Fact { return new(SubscriptionResumed) }},
	"log.restored":                 {1, func() Fact { return new(LogRestored) }},
}

// FactTypes lists every type this version writes.
func FactTypes() []FactType {
	types := make([]FactType, 0, len(facts))
	for t := range facts {
		types = append(types, t)
	}
	return types
}

// NewFact returns a pointer to a zero fact of the type, or nil for an unknown one.
func NewFact(t FactType) Fact {
	entry, ok := facts[t]
	if !ok {
		return nil
	}
	return entry.make()
}

// VersionOf is the version that a fact of the table has in the log.
func VersionOf(f Fact) int { return versionOf(f) }

// Versions lists the versions in which facts of the type are stored, the oldest first; none for an unknown type. The
// content of a fact decides in which of them it is stored.
func Versions(t FactType) (versions []int) {
	entry, ok := facts[t]
	if !ok {
		return nil
	}
	for v := versionOf(entry.make()); v <= entry.version; v++ {
		versions = append(versions, v)
	}
	return versions
}

// versioned is a fact whose later versions only add fields that may be left out.
type versioned interface {
	// needs is the lowest version that says all that the fact says.
	needs() int
}

// versionOf is the version that the fact is written as: a fact that uses nothing that a later version has added is
// stored as before, byte for byte, and a log that uses nothing new can be read by an older binary.
func versionOf(f Fact) int {
	if v, ok := f.(versioned); ok {
		return v.needs()
	}
	return facts[f.FactType()].version
}

// retirement says what became of a fact type that is not written any more.
type retirement struct {
	// version is the last one that was written under the old name.
	version int
	// successor is the type that replaced it, and since the version of it that has the same body.
	successor FactType
	since     int
}

// retired holds the names that older versions wrote. They said how a field changed; their successors say
// what happened. A retired name is never used again, and a log that holds it is read for ever.
var retired = map[FactType]retirement{
	"event.updated":      {version: 1, successor: "event.republished", since: 1},
	"handler.wake_set":   {version: 1, successor: "handler.wake_requested", since: 1},
	"workflow.retry_set": {version: 1, successor: "workflow.retry_owed", since: 1},
}

// PresentName returns the name under which this version knows the type: of a retired type that of its
// successor, of any other the name itself.
func PresentName(t FactType) FactType {
	if r, ok := retired[t]; ok {
		return r.successor
	}
	return t
}

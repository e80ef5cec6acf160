package hint

// The codes, grouped by what the hint is about. The comment after a code lists the values that its text takes, in their
// order. A code without a comment takes none.
const (
	// Workflows.
	Workflows     Code = "workflow.list"
	OtherWorkflow Code = "workflow.other"
	Recordings    Code = "recordings.none"      // workflow
	Recorded      Code = "recordings.runs"      // workflow
	Why           Code = "workflow.why"         // workflow
	Waits         Code = "workflow.waits"       // workflow
	Resume        Code = "workflow.resume"      // workflow
	Archived      Code = "workflow.archived"    // workflow
	RunActive     Code = "workflow.runActive"   // workflow
	NoProducers   Code = "workflow.noProducers" // workflow
	// Deploys, repairs and grants.
	Rename           Code = "deploy.rename"
	FirstDeploy      Code = "deploy.first"
	DeployOnRunning  Code = "deploy.onRunning" // workflow
	RunningVersion   Code = "deploy.running"   // workflow
	DeployInstead    Code = "deploy.instead"
	PersonDeploys    Code = "deploy.person"
	PersonLooks      Code = "repair.personLooks"      // workflow, workflow
	KeepConsumer     Code = "deploy.keepConsumer"     // consumer, workflow
	KeepSubscription Code = "deploy.keepSubscription" // workflow
	PauseFirst       Code = "deploy.pauseFirst"       // workflow
	KeepUntilFree    Code = "deploy.keepUntilFree"    // workflow
	Grants           Code = "grants.form"
	GrantSecret      Code = "grants.secret"  // workflow, capability
	Connector        Code = "connector.show" // connector
	Connectors       Code = "connector.list"
	// Events, and the jobs that they are.
	Topics           Code = "event.topics" // topics
	EventForm        Code = "event.form"
	Flatter          Code = "json.flatter"
	NumberAsText     Code = "json.number"
	Payload          Code = "event.payload"
	FewerPending     Code = "event.fewerPending" // workflow
	Events           Code = "event.list"         // workflow
	Jobs             Code = "job.list"           // workflow
	Actions          Code = "job.actions"
	LookAgain        Code = "job.lookAgain"   // workflow
	AfterRun         Code = "job.afterRun"    // workflow
	CancelFirst      Code = "job.cancelFirst" // workflow, topic
	SkipInstead      Code = "job.skipInstead" // workflow, topic
	RunProgress      Code = "job.runProgress" // workflow
	IncludingUnknown Code = "job.includingUnknown"
	// Mutations.
	Mutations       Code = "mutation.list"
	Outcome         Code = "mutation.outcome"        // mutation
	SkipApproved    Code = "mutation.skipApproved"   // workflow, topic, mutation
	SettleFirst     Code = "mutation.settleFirst"    // mutation
	SettleFirstWhy  Code = "mutation.settleFirstWhy" // workflow
	ApproveLater    Code = "approval.later"
	ApproveRecorded Code = "approval.recorded" // mutation
	ApproveOrReject Code = "approval.decide"   // mutation
	Settled         Code = "resolve.settled"   // mutation
	CallOpen        Code = "resolve.callOpen"
	Reconciling     Code = "resolve.reconciling"   // time of the next attempt
	UnderWay        Code = "resolve.underWay"      // time
	MayTakeEffect   Code = "resolve.mayTakeEffect" // mutation
	FindOut         Code = "resolve.findOut"       // mutation
	Resolutions     Code = "resolve.list"
	NoResult        Code = "resolve.noResult"
	JSONResult      Code = "resolve.jsonResult"
	Comment         Code = "comment.size"
	// Tokens.
	Tokens           Code = "token.list"
	TokenName        Code = "token.name"
	TokenRole        Code = "token.role"
	TokenForAll      Code = "token.forAll"
	TokenForWorkflow Code = "token.forWorkflow" // workflow
	TokenHash        Code = "token.hash"
	TokenTaken       Code = "token.taken" // token
	TokenInUse       Code = "token.inUse"
	RevokeUnused     Code = "token.revokeUnused"
	LoginAgain       Code = "login.again"
	// Outgoing webhooks.
	Subscriptions Code = "subscription.list"
	// The log and the clock.
	NamesKnown     Code = "log.namesKnown"
	Verify         Code = "log.verify"
	VerifyWorkflow Code = "log.verifyWorkflow"
	AcceptLoss     Code = "log.acceptLoss"
	Newer          Code = "log.newer"
	ManualClock    Code = "clock.manual"
)

package eventlog

// Grant says what a workflow may do with a capability.
type Grant string

// The grants. The most specific pattern of `connector.operation`, `connector.*`, `*` wins.
const (
	GrantAllow Grant = "allow"
	GrantAsk   Grant = "ask"
	GrantDeny  Grant = "deny"
)

// BlockReason says why the system holds a workflow (F7).
type BlockReason string

// The reasons of a system block.
const (
	BlockApproval      BlockReason = "approval"       // a mutation awaits a person's approval (O5)
	BlockReconcile     BlockReason = "reconciliation" // a mutation's outcome is being asked for
	BlockIndeterminate BlockReason = "indeterminate"  // only a person can say what became of a mutation
	BlockTransient     BlockReason = "transient"      // transient retries are exhausted (F8)
	BlockLogic         BlockReason = "logic"          // the repair budget is exhausted (F9)
	BlockPermission    BlockReason = "permission"
	BlockAuth          BlockReason = "auth"
	BlockPrecondition  BlockReason = "precondition"
	BlockInternal      BlockReason = "internal"
	BlockContradiction BlockReason = "contradiction" // a late answer differs from a final outcome (F12)
	BlockLoss          BlockReason = "loss"          // part of the log was lost and accepted as lost
)

type (
	// WorkflowDeployed: this script and definition are the workflow's current version.
	WorkflowDeployed struct {
		Version    Version          `msgpack:"version" json:"version"`
		Filename   string           `msgpack:"filename" json:"filename"`
		Source     string           `msgpack:"source" json:"source"`
		SourceHash string           `msgpack:"sourceHash" json:"sourceHash"` // SHA-256, hex
		Definition Definition       `msgpack:"definition" json:"definition"`
		Grants     map[string]Grant `msgpack:"grants" json:"grants"`
		Repair     bool             `msgpack:"repair,omitempty" json:"repair"`
		Note       string           `msgpack:"note,omitempty" json:"note,omitempty"`
	}
	// WorkflowGranted: these grants replace the former ones.
	WorkflowGranted struct {
		Grants map[string]Grant `msgpack:"grants" json:"grants"`
	}
	// WorkflowPaused: a person paused it. The system never sets or clears this.
	WorkflowPaused struct{}
	// WorkflowResumed: a person ended the pause.
	WorkflowResumed struct{}
	// WorkflowBlocked: the system holds it.
	WorkflowBlocked struct {
		Reason  BlockReason `msgpack:"reason" json:"reason"`
		Message string      `msgpack:"message" json:"message"`
		Run     RunID       `msgpack:"run,omitempty" json:"run,omitempty"`
	}
	// WorkflowUnblocked: the system's hold is gone.
	WorkflowUnblocked struct{}
	// WorkflowArchived: it has stopped for good; its history stays.
	WorkflowArchived struct{}
	// MaintenanceEntered: nothing runs until the script is repaired.
	MaintenanceEntered struct {
		Run RunID `msgpack:"run" json:"run"`
	}
	// MaintenanceLeft: runs may start again.
	MaintenanceLeft struct{}
	// RepairCounted: so many logic failures stand in a row (F9); zero after a success.
	RepairCounted struct {
		Failures int `msgpack:"failures" json:"failures"`
	}
	// BackoffStarted: nothing runs until Until; Attempt transient failures stand in a row, and with
	// Attention that are so many that a person should look (F8).
	BackoffStarted struct {
		Attempt   int     `msgpack:"attempt" json:"attempt"`
		Until     Instant `msgpack:"until" json:"until"`
		Attention bool    `msgpack:"attention,omitempty" json:"attention,omitempty"`
	}
	// BackoffCleared: the transient failures are over.
	BackoffCleared struct{}
	// RetryOwed: this ended run owes a retry or a settlement; its events stay reserved (R16).
	RetryOwed struct {
		Run RunID `msgpack:"run" json:"run"`
	}
	// RetryCleared: the owed retry has started or is no longer owed.
	RetryCleared struct {
		Run RunID `msgpack:"run" json:"run"`
	}
	// LossAccepted: a person accepted that part of the log before this revision is lost.
	LossAccepted struct {
		Detail string `msgpack:"detail" json:"detail"`
	}
)

// needs: version 2 added Attention.
func (f *BackoffStarted) needs() int {
	if f.Attention {
		return 2
	}
	return 1
}

// needs: version 2 added Producer.RunOnDeploy, version 3 a consumer's Concurrency, Key and Rate,
// version 4 Definition.Hooks, version 5 a consumer's Approval and DeadLetter.
func (f *WorkflowDeployed) needs() int {
	if f.Definition.hasDuties() {
		return 5
	}
	if len(f.Definition.Hooks) > 0 {
		return 4
	}
	for _, c := range f.Definition.Consumers {
		if c.Concurrency != 0 || c.Key != "" || c.Rate != "" {
			return 3
		}
	}
	for _, p := range f.Definition.Producers {
		if p.RunOnDeploy {
			return 2
		}
	}
	return 1
}

func (*WorkflowDeployed) FactType() FactType   { return "workflow.deployed" }
func (*WorkflowGranted) FactType() FactType    { return "workflow.granted" }
func (*WorkflowPaused) FactType() FactType     { return "workflow.paused" }
func (*WorkflowResumed) FactType() FactType    { return "workflow.resumed" }
func (*WorkflowBlocked) FactType() FactType    { return "workflow.blocked" }
func (*WorkflowUnblocked) FactType() FactType  { return "workflow.unblocked" }
func (*WorkflowArchived) FactType() FactType   { return "workflow.archived" }
func (*MaintenanceEntered) FactType() FactType { return "workflow.maintenance_entered" }
func (*MaintenanceLeft) FactType() FactType    { return "workflow.maintenance_left" }
func (*RepairCounted) FactType() FactType      { return "workflow.repair_counted" }
func (*BackoffStarted) FactType() FactType     { return "workflow.backoff_started" }
func (*BackoffCleared) FactType() FactType     { return "workflow.backoff_cleared" }
func (*RetryOwed) FactType() FactType          { return "workflow.retry_owed" }
func (*RetryCleared) FactType() FactType       { return "workflow.retry_cleared" }
func (*LossAccepted) FactType() FactType       { return "workflow.loss_accepted" }

// hasDuties reports whether a consumer asks people, or keeps what it discards.
func (d *Definition) hasDuties() bool {
	for _, c := range d.Consumers {
		if c.Approval != "" || c.DeadLetter != "" {
			return true
		}
	}
	return false
}

package deploy

import (
	"fmt"

	"github.com/pawl-run/pawl/eventlog"
)

// CodeChanged is the code of a call that was not made because its tool is not what the deploy pinned.
const CodeChanged = "connector.changed"

// Changed reports that a live tool is not what the deploy pinned: another kind, or another answer
// to whether it can be asked. The phase table and grants rest on the pin, so such a tool is not
// called until a deploy accepts it. A tool that is away is only a transient failure of its call.
func Changed(live Catalog, pinned eventlog.Operation) *eventlog.Failure {
	op, ok := live.Operation(pinned.Connector, pinned.Operation)
	if !ok || string(op.Kind) == pinned.Kind && op.Reconciles == pinned.Reconciles {
		return nil
	}
	message := fmt.Sprintf("the configuration of %s has changed since the deploy: reconcile was ", pinned.Capability())
	switch {
	case string(op.Kind) != pinned.Kind:
		message = fmt.Sprintf("%s has changed since the deploy: its kind was %s and is %s now", pinned.Capability(),
			pinned.Kind, op.Kind)
	case op.Reconciles:
		message += "added"
	default:
		message += "removed"
	}
	return &eventlog.Failure{Class: eventlog.Precondition, Code: CodeChanged, Message: message}
}

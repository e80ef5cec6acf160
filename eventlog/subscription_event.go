package eventlog

// SubscriptionName names an outgoing webhook of the configuration.
type SubscriptionName string

type (
	// SubscriptionResumed: a person has ended the parking of an outgoing webhook. Only of Installation.
	SubscriptionResumed struct {
		Name SubscriptionName `msgpack:"name" json:"name"`
		// Skipped is the message that the person chose to leave undelivered; nil when it is tried again.
		Skipped *SkippedMessage `msgpack:"skipped,omitempty" json:"skipped,omitempty"`
	}
	// SkippedMessage is a message of an outgoing webhook that is not delivered.
	SkippedMessage struct {
		// ID is the message's ce-id, and Type its ce-type.
		ID   string `msgpack:"id" json:"id"`
		Type string `msgpack:"type" json:"type"`
		// Workflow is the one that the message is about; empty for none.
		Workflow WorkflowName `msgpack:"workflow,omitempty" json:"workflow,omitempty"`
	}
)

// FactType implements Fact.
func (*SubscriptionResumed) FactType() FactType { return "subscription.resumed" }

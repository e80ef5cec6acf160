package subscription

import "github.com/pawl-run/pawl/eventlog"

// State of a subscription.
type State string

// The states of a subscription.
const (
	// StateStarting: its position is not read yet.
	StateStarting State = "starting"
	// StateDelivering: messages are delivered, or none waits.
	StateDelivering State = "delivering"
	// StateFailing: an attempt failed, and is made again and again.
	StateFailing State = "failing"
	// StateParked: nothing is sent until a person resumes it.
	StateParked State = "parked"
)

// Status is the status of a subscription.
type Status struct {
	Name  string `json:"name"`
	State State  `json:"state" jsonschema:"starting, delivering, failing or parked"`
	// Target shows no path: that may be a secret.
	Target string `json:"target" jsonschema:"where the messages are posted, without the path"`
	About  string `json:"about" jsonschema:"what is delivered"`
	// Since is the time at which it began to fail or was parked.
	Since   eventlog.Instant `json:"since" jsonschema:"since when it fails or is parked, null otherwise"`
	Error   *string          `json:"error" jsonschema:"why it fails or is parked, null otherwise"`
	Oldest  eventlog.Instant `json:"oldest" jsonschema:"when the oldest message that waits was published, null when none waits"`
	Waiting int              `json:"waiting" jsonschema:"how many messages are read and not delivered"`
	// Refused is the message at which it is parked.
	Refused  *eventlog.SkippedMessage `json:"refused" jsonschema:"the message at which it is parked, null otherwise"`
	Commands []string                 `json:"commands" jsonschema:"what a person can do about it"`
}

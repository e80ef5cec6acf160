package eventlog

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

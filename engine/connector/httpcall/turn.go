package httpcall

import (
	"fmt"

	"github.com/pawl-run/pawl/engine/connector/turn"
	"github.com/pawl-run/pawl/eventlog"
)

// maxConnections is how many connections to one host each transport has at most, one for each call at
// once, also while it is listened to after its deadline. A call that gets none within its time was not sent.
// An open call never gives its connection up to another: the host may still carry it out, and nothing but its own
// end says when it no longer does.
const maxConnections = 256

// maxConcurrency is the most calls at once that a host can be configured with: there are no more connections.
const maxConcurrency = maxConnections

// newTurns checks the bounds of a host; nil for none.
func newTurns(name string, concurrency int, perTime string) (*turn.Queue, error) {
	if concurrency < 0 || concurrency > maxConcurrency {
		return nil, wrong("concurrency", "concurrency: want a number from 1 to %d, or 0 for no bound", maxConcurrency)
	}
	bound, err := eventlog.ParseRate(perTime)
	if err != nil {
		return nil, wrong("rate", "rate: %w", err)
	}
	return turn.New(turn.Bounds{
		Target: name, Setting: hostsKey,
		Places: concurrency, PlacesFrom: fmt.Sprintf("connectors.http.hosts.%s.concurrency", name),
		Spacing: bound.Spacing(), Rate: perTime, RateFrom: fmt.Sprintf("connectors.http.hosts.%s.rate", name),
	}), nil
}

package doctor

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Copies is what the servers of a shared log say about the copies of its streams.
type Copies struct {
	Leader  *string       `json:"leader" jsonschema:"the server that decides where copies are; null during an election, and where it is not known: servers of your own tell it their system account alone"`
	Current bool          `json:"current" jsonschema:"whether every stream has a leader and each copy is current; only then may the next node be stopped"`
	Lacking []LackingCopy `json:"lacking" jsonschema:"the copies that are not current"`
}

// LackingCopy is a copy that is not current, or a stream without a leader.
type LackingCopy struct {
	Stream  string `json:"stream" jsonschema:"the stream"`
	Server  string `json:"server" jsonschema:"the server that keeps the copy; empty for a stream that has no leader, or too few copies"`
	Offline bool   `json:"offline" jsonschema:"whether the server is not there"`
	Lag     uint64 `json:"lag" jsonschema:"how many writes the copy lacks"`
}

// LookAtCopies asks for the copies of all streams of the connection's account. It fails where JetStream does not
// answer.
func LookAtCopies(ctx context.Context, nc *nats.Conn) (Copies, error) {
	c := Copies{Lacking: []LackingCopy{}}
	js, err := jetstream.New(nc)
	if err != nil {
		return c, err
	}
	all := js.ListStreams(ctx)
	for info := range all.Info() {
		c.add(info)
	}
	if err := all.Err(); err != nil {
		return c, fmt.Errorf("ask for the copies of the log: %w", err)
	}
	c.Current = len(c.Lacking) == 0
	return c, nil
}

func (c *Copies) add(info *jetstream.StreamInfo) {
	if info.Config.Replicas <= 1 {
		return
	}
	name := info.Config.Name
	if info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != info.Config.Replicas-1 {
		c.Lacking = append(c.Lacking, LackingCopy{Stream: name})
		return
	}
	for _, r := range info.Cluster.Replicas {
		if !r.Current || r.Offline {
			c.Lacking = append(c.Lacking, LackingCopy{Stream: name, Server: r.Name, Offline: r.Offline, Lag: r.Lag})
		}
	}
}

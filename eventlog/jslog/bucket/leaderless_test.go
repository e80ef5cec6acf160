package bucket_test

import (
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog/jslog/bucket"
)

// A server that knows no leader of the bucket answers for itself, and may lack keys: that is no list of them.
func TestKeysAreThoseOfTheLeader(t *testing.T) {
	t.Parallel()
	nc := natstest.WithoutJetStream(t)
	var leader atomic.Value
	leader.Store("n1")
	_, err := nc.Subscribe("$JS.API.STREAM.INFO.KV_LEASES", func(m *nats.Msg) {
		if err := m.Respond([]byte(`{"config":{"name":"KV_LEASES","subjects":["$KV.LEASES.>"],"num_replicas":3,` +
			`"max_msgs_per_subject":1},"state":{"messages":1,"subjects":{"$KV.LEASES.node.a":1}},"cluster":{"leader":"` +
			leader.Load().(string) + `"}}`)); err != nil {
			t.Error(err)
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Open(t.Context(), js, "LEASES")
	if err != nil {
		t.Fatal(err)
	}
	if keys, err := b.Keys(t.Context(), "node."); err != nil || len(keys) != 1 || keys[0] != "node.a" {
		t.Errorf("with a leader: %v, %v", keys, err)
	}
	leader.Store("")
	if keys, err := b.Keys(t.Context(), "node."); err == nil {
		t.Errorf("without a leader: %v", keys)
	}
}

package doctor

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A stream is whole with a leader and each of its copies current; what is not is named.
func TestCopiesThatLack(t *testing.T) {
	t.Parallel()
	current := &jetstream.PeerInfo{Name: "n2", Current: true}
	for name, c := range map[string]struct {
		replicas int
		cluster  *jetstream.ClusterInfo
		want     []LackingCopy
	}{
		"one copy": {1, nil, nil},
		"all current": {3, &jetstream.ClusterInfo{Leader: "n1",
			Replicas: []*jetstream.PeerInfo{current, {Name: "n3", Current: true}}}, nil},
		"no leader": {3, &jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{current, current}},
			[]LackingCopy{{Stream: "S"}}},
		"too few copies": {3, &jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{current}},
			[]LackingCopy{{Stream: "S"}}},
		"one catches up": {3, &jetstream.ClusterInfo{Leader: "n1",
			Replicas: []*jetstream.PeerInfo{current, {Name: "n3", Lag: 7}}}, []LackingCopy{{Stream: "S", Server: "n3", Lag: 7}}},
		"one is away": {3, &jetstream.ClusterInfo{Leader: "n1",
			Replicas: []*jetstream.PeerInfo{current, {Name: "n3", Current: true, Offline: true}}},
			[]LackingCopy{{Stream: "S", Server: "n3", Offline: true}}},
	} {
		var got Copies
		got.add(&jetstream.StreamInfo{Config: jetstream.StreamConfig{Name: "S", Replicas: c.replicas}, Cluster: c.cluster})
		if !slices.Equal(got.Lacking, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got.Lacking, c.want)
		}
	}
}

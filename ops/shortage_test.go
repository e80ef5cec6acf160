package ops

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// A node of a cluster with too little disk space says so among the nodes, and that its partitions go to others.
func TestANodeThatLacksSpace(t *testing.T) {
	t.Parallel()
	const renew = 200 * time.Millisecond
	between := network.New(renew * 15 / 2)
	t.Cleanup(between.Close)
	link := between.Join(1)
	leases, err := lease.New(lease.Config{Bucket: link, Partitions: 1, Node: "n1", Renew: renew, Elapsed: link.Elapsed,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	b := setupOn(t, memlog.New(memlog.Config{}), func(_ *Config, h *enginetest.Harness) {
		h.Config.Leases, h.Config.Peers = leases, link
		h.Config.DiskSpace = func() error { return errors.New("3 bytes are free") }
	})
	b.engine.MustDeploy(orders("shop", "send")) // it is answered once the partition is owned
	res, answer := b.request("GET", "/v1/cluster", "")
	nodes, _ := mustJSON(t, answer)["nodes"].([]any)
	if res.StatusCode != 200 || len(nodes) != 1 {
		t.Fatalf("the nodes are %s", answer)
	}
	if n := nodes[0].(map[string]any); n["lacks"] != "diskSpace" || n["leaving"] != true || n["owns"] != 1.0 {
		t.Errorf("the node is %v", n)
	}
	res, answer = b.request("GET", "/readyz", "")
	if res.StatusCode != 503 || !strings.Contains(string(answer), "partitions go to other nodes") ||
		!strings.Contains(string(answer), "3 bytes are free") {
		t.Errorf("/readyz answers %d %s", res.StatusCode, answer)
	}
}

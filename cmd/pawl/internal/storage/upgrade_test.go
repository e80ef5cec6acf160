package storage_test

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/jslog/bucket"
)

// The format of a shared log is raised to what all nodes read that run: an old one holds it back, until it is upgraded
// or left out; one that has ended does not.
func TestAnUpgradeWaitsForAllNodes(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	logger := slog.New(slog.DiscardHandler)
	if _, err := storage.Form(t.Context(), nc, logger, storage.Layout{Partitions: 2, Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for p := range 2 { // as an older version has made it
		s, err := js.Stream(t.Context(), jslog.StreamName("", p))
		if err != nil {
			t.Fatal(err)
		}
		config := s.CachedInfo().Config
		config.Metadata["pawl.format"] = "6"
		if _, err := js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	leases, err := bucket.Open(t.Context(), js, storage.LeasesBucket)
	if err != nil {
		t.Fatal(err)
	}
	says := func(name string, n lease.Node) {
		t.Helper()
		text, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		_, revision, err := leases.Get(t.Context(), lease.NodePrefix+name)
		if err == nil {
			_, err = leases.Put(t.Context(), lease.NodePrefix+name, text, revision)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	says("new", lease.Node{Engine: "1", Version: "2.0.0", Format: eventlog.FormatVersion})
	says("old", lease.Node{Engine: "2", Version: "1.0.0", Format: 6})
	says("ended", lease.Node{Format: 5})
	if _, err := storage.RaiseFormat(t.Context(), nc, logger, nil); err == nil ||
		!strings.Contains(err.Error(), "old (pawl 1.0.0, up to format 6)") || strings.Contains(err.Error(), "ended") {
		t.Errorf("with an old node: %v", err)
	}
	says("old", lease.Node{Engine: "3", Version: "1.5.0", Format: 7})
	u, err := storage.RaiseFormat(t.Context(), nc, logger, nil)
	if err != nil || u.From != 6 || u.To != 7 || !slices.Equal(u.Nodes, []string{"new", "old"}) {
		t.Errorf("as far as all read: %+v, %v", u, err)
	}
	u, err = storage.RaiseFormat(t.Context(), nc, logger, []string{"old"})
	if err != nil || u.From != 7 || u.To != eventlog.FormatVersion {
		t.Errorf("without the old one: %+v, %v", u, err)
	}
	u, err = storage.RaiseFormat(t.Context(), nc, logger, []string{"old"})
	if err != nil || u.From != eventlog.FormatVersion || u.To != eventlog.FormatVersion {
		t.Errorf("once more: %+v, %v", u, err)
	}
}

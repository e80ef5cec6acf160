package node_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/backup"
)

// One engine's log, with what it has done, becomes that of three servers and two engines: nothing is done there before
// a person resumes a workflow, what was done is not done again, and what was not is done once.
func TestAnInstallationGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three servers and two engines")
	}
	t.Parallel()
	got, host := startSink(t)
	worker := buildWorker(t)

	alone := nodeSettings{Data: filepath.Join(t.TempDir(), "alone"), Node: "alone", Sink: host, Worker: worker}
	old := startNode(t, alone)
	source := strings.NewReplacer("NAME", "w", "SINK", host).Replace(ordersScript)
	if err := old.do("deployWorkflow", map[string]any{"source": source, "filename": "w.js",
		"grants": map[string]string{"http.post": "allow"}}, nil); err != nil {
		t.Fatal(err)
	}
	var orders []string
	push := func(phase string, through *member) {
		for i := range 5 {
			orders = append(orders, fmt.Sprintf("%s-%d", phase, i))
			through.push("w", orders[len(orders)-1])
		}
	}
	push("alone", old)
	got.await(t, orders)
	if err := old.do("pauseWorkflow", map[string]any{"workflow": "w"}, nil); err != nil {
		t.Fatal(err)
	}
	push("waiting", old)
	if err := old.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = old.process.Wait()
	copied := filepath.Join(t.TempDir(), "copy")
	if _, err := storage.BackUpStopped(t.Context(), config.Settings{Data: alone.Data, Policies: schedule.Default()},
		storage.Parts{}, slog.New(slog.DiscardHandler), copied); err != nil {
		t.Fatal(err)
	}

	url := threeServers(t)
	grown := restoreShared(t, url, copied)
	if !slices.Equal(grown.Paused, []eventlog.WorkflowName{"w"}) || grown.Partitions != 4 {
		t.Errorf("restored %+v", grown)
	}
	start := func(name string) *member {
		return startNode(t, nodeSettings{Data: filepath.Join(t.TempDir(), name), Node: name, URL: url, Sink: host,
			Worker: worker})
	}
	a, b := start("a"), start("b")
	push("grown", b)
	var w struct {
		Status, Message string
		Blocked         *struct{ Reason string }
	}
	if err := a.do("getWorkflow", map[string]any{"workflow": "w"}, &w); err != nil || w.Status != "paused" {
		t.Errorf("%+v, %v: the workflow waits for a person", w, err)
	}
	got.mu.Lock()
	if len(got.posts) != 5 {
		t.Errorf("%d orders were posted before a person has resumed the workflow, want the 5 of before", len(got.posts))
	}
	got.mu.Unlock()
	if err := a.do("resumeWorkflow", map[string]any{"workflow": "w"}, nil); err != nil {
		t.Fatal(err)
	}
	got.await(t, orders)
	got.mu.Lock()
	defer got.mu.Unlock()
	for id, times := range got.posts {
		if times != 1 {
			t.Errorf("order %s was posted %d times", id, times)
		}
	}
}

// restoreShared restores a backup into the servers, and is refused a second time.
func restoreShared(t *testing.T, url, copied string) backup.Restored {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	nc, err := storage.Servers(t.Context(), config.Servers{URL: url}, logger)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	restore := func(ctx context.Context) (backup.Restored, error) {
		folder, err := backup.Open(copied)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		return storage.RestoreShared(ctx, nc, logger, folder, storage.Layout{Partitions: 4, Replicas: 3},
			storage.Restoration{Actor: config.ActorNamed("tester"), NamesKnown: true})
	}
	result, err := restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t.Context()); err == nil || !strings.Contains(err.Error(), "empty installation") {
		t.Errorf("a second restore: %v", err)
	}
	return result
}

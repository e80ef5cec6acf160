package backup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
	"github.com/pawl-run/pawl/ops/backup"
	"github.com/pawl-run/pawl/ops/replay"
)

var ann = eventlog.Actor{Kind: "user", Name: "ann"}

var wish = backup.Wish{Actor: ann, At: 5, Cause: eventlog.Cause{Kind: "api", ID: "restore"}}

// written makes a log of these workflows, and a backup of it.
func written(t *testing.T, partitions, revisions int, names ...eventlog.WorkflowName) (*backup.Folder, eventlog.Log) {
	t.Helper()
	log := opened(t, natstest.Connect(t, natstest.NewServer(t, natstest.Fast)), jslog.Config{Partitions: partitions})
	heads := map[eventlog.WorkflowName]eventlog.Head{}
	for range revisions {
		for _, name := range names {
			head, err := logtest.Head(log.Append(t.Context(), logtest.PaddedEntry(t, name, heads[name], 100)))
			if err != nil {
				t.Fatal(err)
			}
			heads[name] = head
		}
	}
	dir := filepath.Join(t.TempDir(), "copy")
	taken, err := backup.Take(t.Context(), backup.Opened{Log: log,
		Source: backup.Source{Installation: log.Installation(), Data: "/var/lib/pawl"}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if taken.Records() != revisions*len(names) || taken.Workflows != len(names) {
		t.Fatalf("%d transitions of %d workflows were copied", taken.Records(), taken.Workflows)
	}
	return openBackup(t, dir), log
}

func openBackup(t *testing.T, dir string) *backup.Folder {
	t.Helper()
	folder, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	return folder
}

func opened(t *testing.T, nc *nats.Conn, cfg jslog.Config) *jslog.Log {
	t.Helper()
	log, err := jslog.Open(t.Context(), nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// restoring opens a log for the backup.
func restoring(folder *backup.Folder, partitions int) jslog.Config {
	return jslog.Config{Partitions: partitions, Restoring: &jslog.Restoring{
		Installation: folder.Installation + ".g2", Backup: folder.ID}}
}

// pastsOf are the hashes of each workflow's records.
func pastsOf(t *testing.T, log eventlog.Log) map[eventlog.WorkflowName][]string {
	t.Helper()
	pasts := map[eventlog.WorkflowName][]string{}
	for _, r := range logtest.ReadAll(t, log) {
		pasts[r.Workflow] = append(pasts[r.Workflow], fmt.Sprintf("%s %s", r.Kind, r.Hash))
	}
	return pasts
}

// same checks that each past is the one before and the record of the restore.
func same(t *testing.T, before, after map[eventlog.WorkflowName][]string) {
	t.Helper()
	for name, past := range before {
		got := after[name]
		if len(got) != len(past)+1 || strings.Join(got[:len(past)], "\n") != strings.Join(past, "\n") ||
			!strings.HasPrefix(got[len(past)], "log.restored ") {
			t.Errorf("%s had\n%s\nand has\n%s", name, strings.Join(past, "\n"), strings.Join(got, "\n"))
		}
	}
	if got := after[eventlog.Installation]; len(got) != 1 {
		t.Errorf("the installation has %v, want the record of the restore", got)
	}
	if len(after) != len(before)+1 {
		t.Errorf("%d workflows, want %d", len(after), len(before))
	}
}

// The stored bytes are the same in other partitions; what is new is the record of the restore.
func TestRestoreKeepsBytes(t *testing.T) {
	t.Parallel()
	folder, log := written(t, 2, 20, "a", "b", "c", "d")
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	into := opened(t, nc, restoring(folder, 5))
	result, err := backup.Restore(t.Context(), folder, into, wish)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Paused) != 4 || result.Partitions != 5 || result.Installation != folder.Installation+".g2" {
		t.Errorf("%+v", result)
	}
	same(t, pastsOf(t, log), pastsOf(t, into))
	for r, err := range into.ReadWorkflow(t.Context(), "a", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == "log.restored" {
			fact, ok := r.Facts[0].(*eventlog.LogRestored)
			if !ok || r.Actor != ann || fact.Generation != "g2" || !strings.Contains(fact.From, "/var/lib/pawl") {
				t.Errorf("%+v by %+v", r.Facts[0], r.Actor)
			}
		}
	}
	if v, err := replay.Verify(t.Context(), into, nil, 0); err != nil || !v.OK {
		t.Errorf("%+v, %v", v, err)
	}
	if !into.NamesLost(0) || !into.NamesLost(4) {
		t.Error("a workflow that the backup does not know would not be held")
	}
	_ = into.Close()
	if after := opened(t, nc, jslog.Config{}); after.Partitions() != 5 || after.Identity(0) == log.Identity(0) {
		t.Errorf("%d partitions, identity %s", after.Partitions(), after.Identity(0))
	}
}

// failing fails after some appends.
type failing struct {
	*jslog.Log
	left atomic.Int64
}

var errEnough = errors.New("enough")

func (f *failing) AppendGroup(ctx context.Context, entries []eventlog.Entry) ([]eventlog.Written, error) {
	if f.left.Add(-1) < 0 {
		return nil, errEnough
	}
	return f.Log.AppendGroup(ctx, entries)
}

func (f *failing) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	if f.left.Add(-1) < 0 {
		return eventlog.Written{}, errEnough
	}
	return f.Log.Append(ctx, e)
}

// A restore that is interrupted anywhere goes on where it stopped, and until its end nothing else opens the log.
func TestRestoreGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	folder, log := written(t, 1, 70, "a", "b", "c")
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	tries := 0
	for done := false; !done; tries++ {
		into := &failing{Log: opened(t, nc, restoring(folder, 3))}
		into.left.Store(2)
		_, err := backup.Restore(t.Context(), folder, into, wish)
		_ = into.Close()
		if done = err == nil; !done && !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
		if tries > 100 {
			t.Fatal("it never ends")
		}
		if done {
			break
		}
		if _, err := jslog.Open(t.Context(), nc, jslog.Config{}); !errors.Is(err, jslog.ErrRestoring) {
			t.Fatalf("an engine opens it: %v", err)
		}
		other := restoring(folder, 3)
		other.Restoring.Backup = "another"
		if _, err := jslog.Open(t.Context(), nc, other); !errors.Is(err, jslog.ErrNotEmpty) {
			t.Fatalf("another backup goes on with it: %v", err)
		}
	}
	if tries < 3 {
		t.Errorf("it was interrupted %d times, which says little", tries)
	}
	if _, err := jslog.Open(t.Context(), nc, restoring(folder, 3)); !errors.Is(err, jslog.ErrNotEmpty) {
		t.Errorf("it is restored once more: %v", err)
	}
	same(t, pastsOf(t, log), pastsOf(t, opened(t, nc, jslog.Config{})))
}

// A backup of which a byte has changed is refused, and so is a folder that is none.
func TestOpenRefusesWhatIsNotWhole(t *testing.T) {
	t.Parallel()
	folder, _ := written(t, 1, 5, "a")
	dir := filepath.Join(t.TempDir(), "spoilt")
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(folder.Path(0)))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "partition-0.log")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func([]byte) []byte{
		"a byte": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"cut":    func(b []byte) []byte { return b[:len(b)-3] },
		"record": func(b []byte) []byte { return b[:len("PAWLLOG1\n")] },
		"more":   func(b []byte) []byte { return append(b, 0) },
		"begin":  func(b []byte) []byte { b[0] = 'X'; return b },
	} {
		if err := os.WriteFile(path, spoil(append([]byte{}, whole...)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Open(dir); !errors.Is(err, eventlog.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "backup.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Open(dir); !errors.Is(err, backup.ErrNoBackup) {
		t.Errorf("without a manifest: %v", err)
	}
}

package jslog_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

const (
	batchSize = 12
	written   = 5 // of the batch, when the process ends
)

// TestEndedWhileABatchWasWritten: the stream has a part of a batch. A killed process has left what was
// staged, and the server writes the rest; where the power failed it is gone, and the part stands for
// itself. Either way nothing that was acknowledged is missing and the log goes on.
func TestEndedWhileABatchWasWritten(t *testing.T) {
	t.Parallel()
	entries := make([]eventlog.Entry, batchSize)
	for n := range entries {
		entries[n] = logtest.PaddedEntry(t, named(n), eventlog.Head{}, 250)
	}
	whole := newSite(t)
	whole.fill(5, 100)
	batches := filepath.Join(whole.streamDir(), "batches")
	server := natstest.NewServer(t, natstest.InDir(whole.dir))
	id := sendBatch(t, server, entries, func() string { return onlyEntry(t, batches) })
	server.Shutdown()

	// What a server stages is a store like any other, with a name made from the batch's.
	staged := newSite(t)
	server = natstest.NewServer(t, natstest.InDir(staged.dir))
	js, err := jetstream.New(natstest.Connect(t, server))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: id, Subjects: []string{"pawl.log.>"},
		AllowAtomicPublish: true}); err != nil {
		t.Fatal(err)
	}
	sendBatch(t, server, entries, func() string { return "" })
	server.Shutdown()

	for name, c := range map[string]struct {
		lost bool // what was staged
		want int  // entries of the batch in the log
	}{
		"killed":       {false, batchSize},
		"power failed": {true, written},
	} {
		t.Run(name, func(t *testing.T) {
			s := whole.copy(t)
			change(t, last(s.blocks()), func(b []byte) []byte { return b[:offsetOf(b, 5+written)] })
			remove(t, filepath.Join(s.streamDir(), "msgs", "index.db")) // a server that is killed has not written it
			memory := filepath.Join(t.TempDir(), "memory")
			if !c.lost {
				store := filepath.Join(staged.dir, "jetstream", "$G", "streams", id)
				if err := os.CopyFS(filepath.Join(memory, id), os.DirFS(store)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.RemoveAll(filepath.Join(s.streamDir(), "batches")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(memory, filepath.Join(s.streamDir(), "batches")); err != nil {
				t.Fatal(err)
			}
			s.goesOn(t, entries, 5, c.want)
		})
	}
}

// goesOn opens the log and finds in it what was acknowledged and so many of the batch, then appends all of
// the batch again.
func (s site) goesOn(t *testing.T, batch []eventlog.Entry, acknowledged, want int) {
	t.Helper()
	server := natstest.NewServer(t, natstest.InDir(s.dir))
	cfg := s.config()
	cfg.Stage, cfg.BatchFrom = server.StageInMemory, 2
	l := mustOpen(t, natstest.Connect(t, server), cfg)
	if n := len(logtest.ReadAll(t, l)); n != acknowledged+want {
		t.Errorf("%d entries, want %d acknowledged and %d of the batch", n, acknowledged, want)
	}
	errs := make(chan error)
	for _, e := range batch {
		go func() { _, err := l.Append(t.Context(), e); errs <- err }()
	}
	for range batch {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := len(logtest.ReadAll(t, l)); n != acknowledged+len(batch) {
		t.Errorf("%d entries after the batch was appended again, want each of its %d once", n, len(batch))
	}
}

// sendBatch writes the entries as an atomic batch. It returns what look sees while only the first is staged.
func sendBatch(t *testing.T, server *embeddednats.Server, entries []eventlog.Entry, look func() string) (seen string) {
	t.Helper()
	nc := natstest.Connect(t, server)
	for i, e := range entries {
		m := &nats.Msg{
			Subject: fmt.Sprintf("%s.log.0.%s.%s", jslog.DefaultPrefix, e.Workflow, e.Kind),
			Header: nats.Header{
				"Nats-Batch-Id": {"batch"}, "Nats-Batch-Sequence": {strconv.Itoa(i + 1)},
				jetstream.ExpectedLastSubjSeqHeader:     {"0"},
				jetstream.ExpectedLastSubjSeqSubjHeader: {fmt.Sprintf("%s.log.0.%s.>", jslog.DefaultPrefix, e.Workflow)},
			},
			Data: e.Stored,
		}
		end := i == len(entries)-1
		if end {
			m.Header["Nats-Batch-Commit"] = []string{"1"}
		}
		answer, err := nc.RequestMsg(m, 10*time.Second)
		if err != nil || (len(answer.Data) > 0) != end {
			t.Fatalf("message %d of a batch: %q, %v", i+1, answer.Data, err)
		}
		if i == 0 {
			seen = look()
		}
	}
	return seen
}

func onlyEntry(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d entries in %s, want 1: %v", len(list), dir, err)
	}
	return list[0].Name()
}

// offsetOf is where the record after so many ends: each begins with its length, whose highest bit says
// that it has headers.
func offsetOf(block []byte, records int) (end int) {
	for range records {
		end += int(binary.LittleEndian.Uint32(block[end:]) &^ (1 << 31))
	}
	return end
}

package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// written is a log that was written before, of one workflow.
type written struct {
	eventlog.Log
	records []eventlog.Record
	read    int   // how many records were read
	fails   error // where it is asked for more than was read until now
}

func (l *written) Identity(int) string { return "test" }

func (l *written) ReadWorkflow(_ context.Context, _ eventlog.WorkflowName, from uint64) iter.Seq2[eventlog.Record,
	error] {
	return func(yield func(eventlog.Record, error) bool) {
		for _, r := range l.records {
			if r.Position.Seq < from {
				continue
			}
			if l.fails != nil {
				yield(eventlog.Record{}, l.fails)
				return
			}
			if l.read++; !yield(r, nil) {
				return
			}
		}
	}
}

func historyOf(t *testing.T, seed uint64, length int) ([]eventlog.Record, []*projections.State) {
	t.Helper()
	log := foldtest.NewLog(seed)
	h := foldtest.NewHistory(log, "w")
	if seed%2 == 1 {
		h = foldtest.NewConcurrentHistory(log, "w")
	}
	states := []*projections.State{new(projections.State)}
	for range length {
		if _, err := h.Step(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		states = append(states, h.State)
	}
	return log.Records, states
}

// glimpsed is the workflow at the revision by a Past: it is asked again until the fold has come that far.
func glimpsed(t *testing.T, p *Past, revision uint64) *Then {
	t.Helper()
	for reached := uint64(0); ; {
		g, err := p.At(t.Context(), "w", revision)
		if err != nil {
			t.Fatalf("revision %d: %v", revision, err)
		}
		if g.Then != nil {
			return g.Then
		}
		if g.Reached < reached {
			t.Fatalf("revision %d: the fold was at %d and is at %d", revision, reached, g.Reached)
		}
		reached = g.Reached
	}
}

// Whatever revision is asked for, and in whatever order, a Past shows what a fold of the whole log shows, although it
// puts away what is finished.
func TestPastIsTheFold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		records, states := historyOf(t, seed, 150)
		cfg := PastConfig{Log: &written{records: records}, stride: 1 + seed*3, Step: time.Minute}
		if seed%4 == 0 {
			cfg.Dir = t.TempDir() + "/past"
		}
		p, err := NewPast(cfg)
		if err != nil {
			t.Fatal(err)
		}
		chance := rand.New(rand.NewPCG(seed, 3))
		for range 40 {
			revision := 1 + chance.Uint64N(uint64(len(records)))
			then, whole := glimpsed(t, p, revision), readmodel.StateOf(states[revision])
			for name, of := range map[string][2]any{
				"workflow": {then.Workflow, whole.Workflow}, "grants": {then.Grants, whole.Grants},
				"handlers": {then.Handlers, whole.Handlers}, "time": {then.At, records[revision-1].At},
			} {
				if got, want := document(t, of[0]), document(t, of[1]); got != want {
					t.Fatalf("seed %d, revision %d: %s\n got %s\nwant %s", seed, revision, name, got, want)
				}
			}
			byID := map[eventlog.RunID]string{}
			for _, run := range whole.Runs {
				byID[run.ID] = document(t, run)
			}
			if len(then.Runs) != min(len(whole.Runs), recentRuns) {
				t.Fatalf("seed %d, revision %d: %d runs of %d", seed, revision, len(then.Runs), len(whole.Runs))
			}
			for i, run := range then.Runs {
				if got := document(t, run); got != byID[run.ID] {
					t.Fatalf("seed %d, revision %d: run\n got %s\nwant %s", seed, revision, got, byID[run.ID])
				}
				if i > 0 && run.StartedAt > then.Runs[i-1].StartedAt {
					t.Fatalf("seed %d, revision %d: an older run stands before a newer one", seed, revision)
				}
			}
		}
		p.Close()
		if _, err := p.At(t.Context(), "w", 1); !errors.Is(err, errPastClosed) {
			t.Errorf("after the end: %v", err)
		}
	}
}

// A fold goes on where the step before has ended, a second look reads little, and what was folded is thrown away with
// its files.
func TestPastGoesInSteps(t *testing.T) {
	t.Parallel()
	records, _ := historyOf(t, 2, 400)
	log := &written{records: records}
	dir := t.TempDir() + "/past"
	p, err := NewPast(PastConfig{Log: log, Dir: dir, stride: 50, Step: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.At(t.Context(), "w", 390)
	if err != nil || g.Then != nil || g.Reached == 0 || g.Reached > 50 {
		t.Fatalf("after a step of no length: %+v, %v", g, err)
	}
	glimpsed(t, p, 390)
	read := log.read
	if read > 350+40+400 { // the fold, its last part, and a record that is begun and read again for each step
		t.Errorf("%d records were read for revision 390", read)
	}
	for _, revision := range []uint64{389, 1, 120, 390} {
		if glimpsed(t, p, revision); log.read-read > 51 {
			t.Errorf("revision %d took %d records", revision, log.read-read)
		}
		read = log.read
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("the folder of folds: %v, %v", files, err)
	}
	p.Close()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("after the end the folder of folds is there: %v", err)
	}
}

// A log that fails is said to fail, and the next request begins anew.
func TestPastOfAFailingLog(t *testing.T) {
	t.Parallel()
	records, _ := historyOf(t, 2, 60)
	log := &written{records: records, fails: fmt.Errorf("gone: %w", eventlog.ErrDamaged)}
	p, err := NewPast(PastConfig{Log: log, Step: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.At(t.Context(), "w", 50); !errors.Is(err, eventlog.ErrDamaged) {
		t.Errorf("a log that cannot be read: %v", err)
	}
	if log.fails = nil; glimpsed(t, p, 50) == nil {
		t.Error("nothing is shown once the log can be read")
	}
	if _, err := p.At(t.Context(), "w", 5000); !errors.Is(err, eventlog.ErrDamaged) {
		t.Errorf("a log that ends too early: %v", err)
	}
}

func document(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

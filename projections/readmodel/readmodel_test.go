package readmodel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/foldtest"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/projections/store"
)

// world is a log of several workflows and a store that follows it.
type world struct {
	t         *testing.T
	logs      []*foldtest.Log
	histories []*foldtest.History
	reader    *readmodel.Reader
}

func newWorld(t *testing.T, partitions, workflows int) *world {
	w := &world{t: t, reader: &readmodel.Reader{Store: newStore(t)}}
	for p := range partitions {
		log := foldtest.NewLog(uint64(40 + p))
		log.Partition = p
		w.logs = append(w.logs, log)
	}
	for i := range workflows {
		w.histories = append(w.histories,
			foldtest.NewHistory(w.logs[i%partitions], eventlog.WorkflowName(fmt.Sprintf("wf-%d", i))))
	}
	return w
}

func newStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(store.Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (w *world) steps(n int) {
	w.t.Helper()
	for range n {
		for _, h := range w.histories {
			if _, err := h.Step(); err != nil {
				w.t.Fatal(err)
			}
			w.commit(h, h.State.Touched)
		}
	}
}

func (w *world) partition(h *foldtest.History) int {
	return slices.Index(w.histories, h) % len(w.logs)
}

func (w *world) commit(h *foldtest.History, touched []projections.Key) {
	w.t.Helper()
	err := w.reader.Store.Commit(store.Batch{
		Partition: w.partition(h), Checkpoint: store.Checkpoint{Seq: h.State.Head.Seq},
		Changes: []store.Change{{State: h.State, Touched: touched}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// lists are all lists, as JSON.
var lists = map[string]func(context.Context, *readmodel.Reader, readmodel.ListOptions) (any, *string, error){
	"workflows": func(ctx context.Context, r *readmodel.Reader, o readmodel.ListOptions) (any, *string, error) {
		p, err := r.Workflows(ctx, o)
		return p.Items, p.Next, err
	},
	"runs": func(ctx context.Context, r *readmodel.Reader, o readmodel.ListOptions) (any, *string, error) {
		p, err := r.Runs(ctx, o)
		return p.Items, p.Next, err
	},
	"events": func(ctx context.Context, r *readmodel.Reader, o readmodel.ListOptions) (any, *string, error) {
		p, err := r.Events(ctx, o)
		return p.Items, p.Next, err
	},
	"jobs": func(ctx context.Context, r *readmodel.Reader, o readmodel.ListOptions) (any, *string, error) {
		p, err := r.Jobs(ctx, o)
		return p.Items, p.Next, err
	},
	"mutations": func(ctx context.Context, r *readmodel.Reader, o readmodel.ListOptions) (any, *string, error) {
		p, err := r.Mutations(ctx, o)
		return p.Items, p.Next, err
	},
	"inputs": func(ctx context.Context, r *readmodel.Reader, o readmodel.ListOptions) (any, *string, error) {
		p, err := r.Inputs(ctx, o)
		return p.Items, p.Next, err
	},
	"sessions": func(ctx context.Context, r *readmodel.Reader, o readmodel.ListOptions) (any, *string, error) {
		p, err := r.Sessions(ctx, o)
		return p.Items, p.Next, err
	},
}

// all reads a list to its end and returns each item's JSON.
func (w *world) all(list string, o readmodel.ListOptions) []string {
	w.t.Helper()
	var items []string
	for {
		page, next, err := lists[list](w.t.Context(), w.reader, o)
		if err != nil {
			w.t.Fatal(err)
		}
		var rows []json.RawMessage
		if err := json.Unmarshal(w.json(page), &rows); err != nil {
			w.t.Fatal(err)
		}
		for _, r := range rows {
			items = append(items, string(r))
		}
		if next == nil {
			return items
		}
		o.Cursor = *next
	}
}

func (w *world) json(v any) []byte {
	w.t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// TestAnswersSurviveARebuiltStore: a store written step by step and one written at once from a
// replay give the same bytes.
func TestAnswersSurviveARebuiltStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 3)
	w.steps(160)
	answers := func() map[string][]string {
		got := map[string][]string{}
		for name := range lists {
			got[name] = w.all(name, readmodel.ListOptions{Limit: 7})
			got[name+" desc"] = w.all(name, readmodel.ListOptions{Desc: true, Limit: 1000})
			got[name+" of one"] = w.all(name, readmodel.ListOptions{Workflow: "wf-1", Limit: 3})
		}
		for _, h := range w.histories {
			handlers, err := w.reader.Handlers(t.Context(), h.State.Name)
			if err != nil {
				t.Fatal(err)
			}
			script, err := w.reader.Script(t.Context(), h.State.Name, "")
			if err != nil {
				t.Fatal(err)
			}
			got["handlers"] = append(got["handlers"], string(w.json(handlers)))
			got["script"] = append(got["script"], string(w.json(script)))
		}
		return got
	}
	before := answers()
	w.reader.Store = newStore(t)
	for _, h := range w.histories {
		full := new(projections.State)
		for _, rec := range w.logs[w.partition(h)].Records {
			if rec.Workflow == h.State.Name {
				var err error
				if full, err = projections.Apply(full, &rec); err != nil {
					t.Fatal(err)
				}
			}
		}
		h.State = full
		w.commit(h, full.Keys())
	}
	after := answers()
	for name, want := range before {
		if len(want) == 0 {
			t.Errorf("%s: nothing to compare", name)
		}
		if !slices.Equal(after[name], want) {
			t.Errorf("%s differs after a rebuild:\n got %v\nwant %v", name, after[name], want)
		}
	}
}

// TestPagesAreStable reads page by page while rows are added: forwards every row comes exactly
// once, backwards exactly those that were there at the first page.
func TestPagesAreStable(t *testing.T) {
	t.Parallel()
	for _, of := range []eventlog.WorkflowName{"", "wf-0"} {
		for _, desc := range []bool{false, true} {
			w := newWorld(t, 2, 3)
			w.steps(30)
			first := w.all("runs", readmodel.ListOptions{Workflow: of, Desc: desc})
			o := readmodel.ListOptions{Workflow: of, Desc: desc, Limit: 2}
			seen := map[eventlog.RunID]int{}
			for pages := 0; ; pages++ {
				page, err := w.reader.Runs(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range page.Items {
					seen[r.ID]++
				}
				if page.Next == nil {
					break
				}
				if len(page.Items) != 2 {
					t.Fatalf("a page before the last has %d items, want 2", len(page.Items))
				}
				o.Cursor = *page.Next
				if pages < 5 {
					w.steps(5)
				}
			}
			want := len(first)
			if !desc {
				want = len(w.all("runs", readmodel.ListOptions{Workflow: of}))
			}
			if len(seen) != want {
				t.Errorf("workflow %q desc %v: saw %d runs, want %d", of, desc, len(seen), want)
			}
			for id, n := range seen {
				if n != 1 {
					t.Errorf("run %s came %d times", id, n)
				}
			}
		}
	}
}

// TestNewPartitionIsNewerThanTheFirstPage: a list that runs backwards never shows what a
// partition got that was empty at its first page.
func TestNewPartitionIsNewerThanTheFirstPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 2)
	late := w.histories[1]
	w.histories = w.histories[:1]
	w.steps(30)
	o := readmodel.ListOptions{Desc: true, Limit: 2}
	page, err := w.reader.Runs(t.Context(), o)
	if err != nil || page.Next == nil {
		t.Fatalf("no second page: %v", err)
	}
	w.histories = append(w.histories, late)
	w.steps(30)
	o.Cursor = *page.Next
	for _, item := range w.all("runs", o) {
		if strings.Contains(item, `"workflow":"wf-1"`) {
			t.Fatalf("newer than the first page: %s", item)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 2)
	w.steps(120)
	count := func(list string, o readmodel.ListOptions, keep func(map[string]any) bool) {
		t.Helper()
		all := w.all(list, readmodel.ListOptions{Workflow: o.Workflow, Limit: 1000})
		var want []string
		for _, item := range all {
			var fields map[string]any
			if err := json.Unmarshal([]byte(item), &fields); err != nil {
				t.Fatal(err)
			}
			if keep(fields) {
				want = append(want, item)
			}
		}
		o.Limit = 3
		if got := w.all(list, o); !slices.Equal(got, want) {
			t.Errorf("%s %+v: got %d items, want %d of %d", list, o, len(got), len(want), len(all))
		}
		if len(want) == 0 || len(want) == len(all) {
			t.Errorf("%s %+v: the filter takes %d of %d, which tests nothing", list, o, len(want), len(all))
		}
	}
	is := func(field, value string) func(map[string]any) bool {
		return func(f map[string]any) bool { return f[field] == value }
	}
	has := func(text string) func(map[string]any) bool {
		return func(f map[string]any) bool { return strings.Contains(strings.ToLower(fmt.Sprint(f["title"])), text) }
	}
	count("runs", readmodel.ListOptions{Status: "committed"}, is("status", "committed"))
	count("runs", readmodel.ListOptions{Phase: "committed", Handler: "work"}, func(f map[string]any) bool {
		return f["phase"] == "committed" && f["handler"] == "work"
	})
	count("runs", readmodel.ListOptions{Workflow: "wf-1", Q: "NOT A FUNCTION"}, func(f map[string]any) bool {
		return strings.Contains(fmt.Sprint(f["error"]), "not a function")
	})
	class := func(class any) func(map[string]any) bool {
		return func(f map[string]any) bool {
			failed, _ := f["error"].(map[string]any)
			return failed != nil && failed["class"] == class
		}
	}
	count("runs", readmodel.ListOptions{Class: "logic"}, class("logic"))
	over := false
	count("runs", readmodel.ListOptions{Ended: &over}, func(f map[string]any) bool { return f["endedAt"] == nil })
	about := func(text string) func(map[string]any) bool {
		return func(f map[string]any) bool { return strings.Contains(strings.ToLower(fmt.Sprint(f["events"])), text) }
	}
	count("runs", readmodel.ListOptions{Q: "MESSAGE MSG 00000"}, about("message msg 00000"))
	count("mutations", readmodel.ListOptions{Q: "MESSAGE MSG 00000"}, about("message msg 00000"))
	count("events", readmodel.ListOptions{Topic: "in.out"}, is("topic", "in.out"))
	count("events", readmodel.ListOptions{Status: "consumed"}, is("status", "consumed"))
	count("events", readmodel.ListOptions{Q: "MESSAGE MSG 00000"}, has("message msg 00000"))
	count("jobs", readmodel.ListOptions{State: "available"}, is("state", "available"))
	count("jobs", readmodel.ListOptions{Handler: "sink"}, is("consumer", "sink"))
	count("mutations", readmodel.ListOptions{Status: "applied"}, is("status", "applied"))
	count("inputs", readmodel.ListOptions{Status: "done"}, is("status", "done"))
	count("sessions", readmodel.ListOptions{Status: "failed"}, is("result", "failed"))
	count("workflows", readmodel.ListOptions{Q: "WF-1"}, is("name", "wf-1"))
	for list, field := range map[string]string{
		"runs": "startedAt", "events": "publishedAt", "jobs": "publishedAt", "mutations": "requestedAt",
		"inputs": "receivedAt", "sessions": "startedAt",
	} {
		when := func(f map[string]any) eventlog.Instant {
			text := f[field]
			if over := f["finalizedAt"]; over != nil {
				text = over
			}
			at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(text))
			if err != nil {
				t.Fatalf("%s: %v", list, err)
			}
			return eventlog.At(at)
		}
		var times []eventlog.Instant
		for _, item := range w.all(list, readmodel.ListOptions{Limit: 1000}) {
			var fields map[string]any
			if err := json.Unmarshal([]byte(item), &fields); err != nil {
				t.Fatal(err)
			}
			times = append(times, when(fields))
		}
		slices.Sort(times)
		from, to := times[len(times)/3], times[2*len(times)/3]
		count(list, readmodel.ListOptions{Since: from}, func(f map[string]any) bool { return when(f) >= from })
		count(list, readmodel.ListOptions{Until: to}, func(f map[string]any) bool { return when(f) < to })
		count(list, readmodel.ListOptions{Since: from, Until: to}, func(f map[string]any) bool {
			return when(f) >= from && when(f) < to
		})
	}
	if got := w.all("runs", readmodel.ListOptions{Topic: "in"}); len(got) > 0 {
		t.Errorf("runs have no topic, but %d matched one", len(got))
	}
}

package readmodel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

func TestSingleAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 2)
	w.steps(80)
	r, ctx, s := w.reader, t.Context(), w.histories[1].State
	flushed := 0
	r.Flush = func(context.Context) error { flushed++; return nil }
	same := func(got any, err error, want any) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if g, x := w.json(got), w.json(want); string(g) != string(x) {
			t.Errorf("got %s, want %s", g, x)
		}
	}
	title := func(ref eventlog.EventRef) string { return s.Event(ref.Topic, ref.MessageID).Title }
	workflow, err := r.Workflow(ctx, "wf-1")
	same(workflow, err, readmodel.WorkflowOf(s))
	for id, run := range s.Runs() {
		got, err := r.Run(ctx, "wf-1", id)
		same(got, err, readmodel.RunView("wf-1", run, title))
	}
	for id, m := range s.Mutations() {
		got, err := r.Mutation(ctx, id)
		same(got, err, readmodel.MutationView("wf-1", m, readmodel.RunView("wf-1", s.Run(m.Run), title)))
	}
	for _, e := range s.Events() {
		got, err := r.Event(ctx, "wf-1", e.Topic, e.MessageID)
		same(got, err, readmodel.EventView(e, nil))
		job, err := r.Job(ctx, "wf-1", e.Topic, e.MessageID)
		same(job, err, readmodel.JobView(e, s.Definition(), nil))
	}
	for id, in := range s.Inputs() {
		got, err := r.Input(ctx, "wf-1", id)
		same(got, err, readmodel.InputView(in))
	}
	for id := range s.Sessions() {
		if _, err := r.Session(ctx, "wf-1", id); err != nil {
			t.Error(err)
		}
	}
	if flushed == 0 {
		t.Error("answers were given without a flush")
	}
	r.Flush = func(context.Context) error { return errors.New("no lease") }
	if _, err := r.Workflow(ctx, "wf-1"); err == nil || !strings.Contains(err.Error(), "no lease") {
		t.Errorf("a failed flush gives %v", err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 1)
	w.steps(40)
	r, ctx := w.reader, t.Context()
	missing := map[string]error{}
	_, missing[`there is no workflow "nope"`] = r.Workflow(ctx, "nope")
	_, missing[`there is no workflow "nope2"`] = r.Runs(ctx, readmodel.ListOptions{Workflow: "nope2"})
	_, missing[`there is no workflow "nope3"`] = r.Run(ctx, "nope3", "R")
	_, missing[`there is no workflow "nope4"`] = r.Handlers(ctx, "nope4")
	_, missing[`workflow wf-0 has no run "R"`] = r.Run(ctx, "wf-0", "R")
	_, missing[`workflow wf-0 has no event "in/m"`] = r.Event(ctx, "wf-0", "in", "m")
	_, missing[`workflow wf-0 has no script "9.9"`] = r.Script(ctx, "wf-0", "9.9")
	_, missing[`there is no mutation "M"`] = r.Mutation(ctx, "M")
	for want, err := range missing {
		var notFound *readmodel.NotFoundError
		if !errors.As(err, &notFound) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	page, err := r.Events(ctx, readmodel.ListOptions{Limit: 1})
	if err != nil || page.Next == nil {
		t.Fatalf("no second page: %v", err)
	}
	for _, o := range []readmodel.ListOptions{
		{Cursor: "%"}, {Cursor: "AAAA"}, {Cursor: *page.Next, Desc: true}, {Cursor: *page.Next, Workflow: "wf-0"},
		{Cursor: (*page.Next)[:len(*page.Next)-2]},
	} {
		if _, err := r.Events(ctx, o); !errors.Is(err, readmodel.ErrBadCursor) {
			t.Errorf("%+v: %v, want ErrBadCursor", o, err)
		}
	}
	if _, err := r.Runs(ctx, readmodel.ListOptions{Cursor: *page.Next}); !errors.Is(err, readmodel.ErrBadCursor) {
		t.Errorf("a cursor of events on runs: %v, want ErrBadCursor", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := r.Events(ended, readmodel.ListOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a scan goes on after its context ended: %v", err)
	}
}

func TestDocumentAndDiff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 1)
	w.steps(60)
	h := w.histories[0]
	before := h.State
	rows, err := w.reader.Store.Get(before.Name, before.Keys())
	if err != nil {
		t.Fatal(err)
	}
	stored := new(projections.State).Hydrate(rows...)
	if d := readmodel.Diff(before, stored); len(d) > 0 {
		t.Errorf("a fold and its rows differ: %q", d)
	}
	if a, b := w.json(readmodel.StateOf(before)), w.json(readmodel.StateOf(stored)); string(a) != string(b) {
		t.Errorf("documents of a fold and its rows differ:\n%s\n%s", a, b)
	}
	if _, err := h.Append(func() {
		if before.Pause != nil {
			h.Add(&eventlog.WorkflowResumed{})
		} else {
			h.Add(&eventlog.WorkflowPaused{})
		}
		h.Add(&eventlog.EventPublished{Topic: "in", MessageID: "new", Title: "t"})
	}); err != nil {
		t.Fatal(err)
	}
	got := readmodel.Diff(before, h.State)
	want := []string{`event "new" of topic in: only in the second`, "workflow: head, pause, waiting"}
	if !slices.Equal(got, want) {
		t.Errorf("diff %q, want %q", got, want)
	}
}

// A page holds some megabytes, whatever its limit: a thousand events may have a gigabyte of payloads.
func TestPagesOfLargeItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 1)
	h := w.histories[0]
	payload := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	const events = 12
	for i := range events {
		if _, err := h.Append(func() {
			h.Add(&eventlog.EventPublished{Topic: "big", MessageID: eventlog.MessageID(fmt.Sprint(i)), Title: "t",
				Payload: payload})
		}); err != nil {
			t.Fatal(err)
		}
		w.commit(h, h.State.Touched)
	}
	for _, desc := range []bool{false, true} {
		o := readmodel.ListOptions{Limit: readmodel.MaxLimit, Topic: "big", Desc: desc}
		seen := map[eventlog.MessageID]bool{}
		for pages := 1; ; pages++ {
			page, err := w.reader.Events(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(page.Items); n == 0 || n > 4 {
				t.Errorf("a page of %d events of 1 MiB", n)
			}
			for _, e := range page.Items {
				seen[e.MessageID] = true
			}
			if page.Next == nil {
				break
			}
			if o.Cursor = *page.Next; pages > events {
				t.Fatal("the list does not end")
			}
		}
		if len(seen) != events {
			t.Errorf("%d of %d events were listed", len(seen), events)
		}
	}
}

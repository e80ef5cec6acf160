package connector_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// The board is the connector that CONNECTORS.md shows; TestCatalogue compares.

// board is a notice board. A call is known by its key: nil stands for a call that was given up.
type board struct {
	mu    sync.Mutex
	notes map[string]*string
}

func (b *board) Name() string { return "board" }

func (b *board) Operations() []connector.Operation {
	return []connector.Operation{
		{Name: "count", Kind: connector.List, Summary: "count the notes {} -> {notes}"},
		{
			Name: "pin", Kind: connector.Mutate, Reconciles: true, Timeout: 5 * time.Second,
			Schema: json.RawMessage(`{"type": "object", "required": ["text"],
				"properties": {"text": {"type": "string", "minLength": 1}}}`),
			Summary: "pin a note {text} -> {pinned}",
		},
	}
}

func (b *board) Read(_ context.Context, call connector.Call) (json.RawMessage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	count := 0
	for _, note := range b.notes {
		if note != nil {
			count++
		}
	}
	return json.Marshal(map[string]int{"notes": count})
}

func (b *board) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	var params struct{ Text string }
	if failure := connector.DecodeParams(call.Params, &params); failure != nil {
		return connector.FailedWith(failure)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// (a) The last look before the first byte: the deadline may have passed while we waited.
	if failure := connector.MayLeave(ctx, call); failure != nil {
		return connector.FailedWith(failure)
	}
	note, known := b.notes[call.Key]
	switch {
	case known && note == nil:
		return connector.FailedWith(connector.Failf(eventlog.Logic, "board.refused", "the call was given up"))
	case !known: // (b) The same key again changes nothing and gets the first answer.
		b.notes[call.Key] = &params.Text
	}
	return connector.Outcome{Status: connector.Applied, Result: json.RawMessage(`{"pinned": true}`)}
}

func (b *board) Reconcile(_ context.Context, call connector.Call) connector.Reconciliation {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notes[call.Key] != nil {
		return connector.Reconciliation{Verdict: connector.VerdictApplied, Result: json.RawMessage(`{"pinned": true}`)}
	}
	b.notes[call.Key] = nil // (c) Refuse the key first: "failed" must stay true.
	return connector.Reconciliation{Verdict: connector.VerdictFailed}
}

// The board keeps what the page says that a connector must keep.
func TestBoard(t *testing.T) {
	t.Parallel()
	registry, err := connector.NewRegistry(&board{notes: make(map[string]*string)})
	if err != nil {
		t.Fatal(err)
	}
	call := func(operation, key, params string) connector.Call {
		now := time.Now()
		return connector.Call{
			Connector: "board", Operation: operation, Params: json.RawMessage(params), Key: key,
			StartedAt: now, Deadline: now.Add(time.Minute),
		}
	}
	want := func(notes string) {
		t.Helper()
		got, err := registry.Read(t.Context(), call("count", "", `{}`))
		if err != nil || string(got) != `{"notes":`+notes+`}` {
			t.Errorf("the board holds %s, %v; want %s notes", got, err, notes)
		}
	}
	pin := call("pin", "K1", `{"text": "lunch at noon"}`)
	for range 2 {
		if out := registry.Perform(t.Context(), pin); out.Status != connector.Applied {
			t.Fatalf("%+v", out)
		}
	}
	want("1")
	late := call("pin", "K2", `{"text": "too late"}`)
	late.Gate = func() *eventlog.Failure { return connector.Failf(eventlog.Transient, connector.CodeDeadline, "late") }
	if out := registry.Perform(t.Context(), late); out.Status != connector.Failed {
		t.Errorf("after its deadline: %+v", out)
	}
	want("1")
	lost := call("pin", "K3", `{"text": "lost"}`)
	if found := registry.Reconcile(t.Context(), lost); found.Verdict != connector.VerdictFailed {
		t.Errorf("a call that never came: %+v", found)
	}
	if out := registry.Perform(t.Context(), lost); out.Status != connector.Failed {
		t.Errorf("a call that was given up: %+v", out)
	}
	if found := registry.Reconcile(t.Context(), pin); found.Verdict != connector.VerdictApplied {
		t.Errorf("a call that took effect: %+v", found)
	}
	want("1")
	if out := registry.Perform(t.Context(), call("pin", "K4", `{"text": 1}`)); out.Status != connector.Failed {
		t.Errorf("a note that is no text: %+v", out)
	}
}

package jslog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// names lists what a partition's records are of, and what else reading it came to.
func names(t *testing.T, l eventlog.Log) (list string) {
	t.Helper()
	for r, err := range l.Read(t.Context(), 0, 1) {
		switch {
		case err == nil:
			list += fmt.Sprintf("%s%d ", r.Workflow, r.Revision)
		case errors.Is(err, eventlog.ErrUnreadable) && r.Workflow == "":
			list += "nobody's "
		case errors.Is(err, eventlog.ErrUnreadable):
			list += string(r.Workflow) + "? "
		default:
			t.Error(err)
		}
	}
	return strings.TrimSpace(list)
}

// TestSetAside: readers pass over what was set aside, and the workflow's next transition follows what
// stands before it, also when that is nothing.
func TestSetAside(t *testing.T) {
	t.Parallel()
	server := natstest.NewServer(t, natstest.Fast)
	nc := natstest.Connect(t, server)
	l := mustOpen(t, nc, jslog.Config{})
	heads := map[eventlog.WorkflowName]eventlog.Head{}
	add := func(w eventlog.WorkflowName) {
		t.Helper()
		head, err := logtest.Head(l.Append(t.Context(), logtest.Entry(t, w, heads[w])))
		if err != nil {
			t.Fatal(err)
		}
		heads[w] = head
	}
	add("a")
	add("b")
	putRaw(t, nc, "pawl.log.0.a.run.prepared", 0, []byte("garbage")) // 3
	putRaw(t, nc, "pawl.log.0.$.run.prepared", 0, []byte("garbage")) // 4
	putRaw(t, nc, "pawl.log.0.c.run.prepared", 0, []byte("garbage")) // 5
	add("b")
	if got, want := names(t, l), "a1 b1 a? nobody's c? b2"; got != want {
		t.Fatalf("read %q, want %q", got, want)
	}
	before := l.Identity(0)
	more := []eventlog.Aside{{Workflow: "a", From: 3, To: 3}, {From: 4, To: 4}, {Workflow: "c", From: 5, To: 5}}
	if err := l.SetAside(t.Context(), 0, more); err != nil {
		t.Fatal(err)
	}
	if l.Identity(0) == before {
		t.Error("the identity is the same: checkpoints on it would be trusted")
	}
	for range 2 { // and it is remembered
		if got := l.Asides(0); len(got) != 3 {
			t.Errorf("set aside: %+v", got)
		}
		if lost := l.LastLost(0); lost != 0 {
			t.Errorf("%d counts as missing", lost)
		}
		if lost, err := jslog.AcceptLoss(t.Context(), nc, jslog.Config{}); err != nil || len(lost.Lines) > 0 {
			t.Errorf("what is set aside is lost: %+v, %v", lost, err)
		}
		add("a")
		add("b")
		add("c")
		for r, err := range l.ReadWorkflow(t.Context(), "a", 1) {
			if err != nil || r.Revision > heads["a"].Revision {
				t.Errorf("read %+v, %v", r.Position, err)
			}
		}
		logtest.ReadAll(t, l)
		again := mustOpen(t, nc, jslog.Config{})
		// Whoever still follows what stands before it is refused.
		if _, err := again.Append(t.Context(), logtest.Entry(t, "c", eventlog.Head{})); !errors.Is(err, eventlog.ErrConflict) {
			t.Errorf("a second first transition: %v, want ErrConflict", err)
		}
		l = again
	}
	if got, want := names(t, l), "a1 b1 b2 a2 b3 c1 a3 b4 c2"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
}

// TestSetAsideTooMuch: what the server could not keep is not half remembered.
func TestSetAsideTooMuch(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	l := mustOpen(t, nc, jslog.Config{})
	var more []eventlog.Aside
	for i := range uint64(5000) {
		more = append(more, eventlog.Aside{Workflow: eventlog.WorkflowName(fmt.Sprintf("workflow-number-%d", i)), From: 2*i + 1, To: 2*i + 1})
	}
	before := l.Identity(0)
	if err := l.SetAside(t.Context(), 0, more); !errors.Is(err, eventlog.ErrTooLarge) || len(l.Asides(0)) != 0 || l.Identity(0) != before {
		t.Errorf("%v, %d set aside; want ErrTooLarge and none", err, len(l.Asides(0)))
	}
	if err := l.SetAside(t.Context(), 0, more[:3000]); err != nil {
		t.Errorf("3000 workflows: %v", err)
	}
}

package jslog_test

import (
	"errors"
	"fmt"
	"path/filepath"
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
			list += "unnamed "
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
	if got, want := names(t, l), "a1 b1 a? unnamed c? b2"; got != want {
		t.Fatalf("read %q, want %q", got, want)
	}
	before := l.Identity(0)
	more := []eventlog.Aside{{Workflow: "a", From: 3, To: 3}, {From: 4, To: 4}, {Workflow: "c", From: 5, To: 5}}
	if _, err := l.SetAside(t.Context(), 0, more); err != nil {
		t.Fatal(err)
	}
	if l.Identity(0) == before {
		t.Error("the identity is the same: checkpoints on it would be trusted")
	}
	for range 2 { // and it is remembered
		if got := l.Asides(0); len(got) != 3 {
			t.Errorf("set aside: %+v", got)
		}
		if lost := l.Unrecorded(0); len(lost) > 0 {
			t.Errorf("%v count as missing", lost)
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
		// An append that still follows what stands before it is refused.
		if _, err := again.Append(t.Context(), logtest.Entry(t, "c", eventlog.Head{})); !errors.Is(err,
			eventlog.ErrConflict) {
			t.Errorf("a second first transition: %v, want ErrConflict", err)
		}
		l = again
	}
	if got, want := names(t, l), "a1 b1 b2 a2 b3 c1 a3 b4 c2"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
}

// TestSetAsideTooMuch: what the server can keep is remembered, and how much that is. Nothing is repeated in
// vain: the rest is refused again, and what is smaller still fits.
func TestSetAsideTooMuch(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	l := mustOpen(t, nc, jslog.Config{})
	var more []eventlog.Aside
	for i := range uint64(5000) {
		more = append(more, eventlog.Aside{Workflow: eventlog.WorkflowName(fmt.Sprintf("workflow-number-%d", i)),
			From: 2*i + 1, To: 2*i + 1})
	}
	n, err := l.SetAside(t.Context(), 0, more)
	if !errors.Is(err, eventlog.ErrTooLarge) || n < 2000 || n == len(more) || len(l.Asides(0)) != n {
		t.Errorf("%v, %d of %d set aside; want ErrTooLarge and thousands", err, n, len(l.Asides(0)))
	}
	before := l.Identity(0)
	if again, err := l.SetAside(t.Context(), 0, more[n:]); !errors.Is(err, eventlog.ErrTooLarge) || again != 0 ||
		l.Identity(0) != before {
		t.Errorf("again: %d, %v", again, err)
	}
	if l = mustOpen(t, nc, jslog.Config{}); len(l.Asides(0)) != n {
		t.Errorf("%d are remembered, want %d", len(l.Asides(0)), n)
	}
}

// TestForeignNames: thousands of foreign messages, each under a name of its own, take no name each; a workflow may
// be deployed under such a name all the same.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	l := mustOpen(t, nc, jslog.Config{})
	const foreign = 2200
	for i := range foreign {
		putRaw(t, nc, fmt.Sprintf("pawl.log.0.a-foreign-name-that-is-long-enough-%d.run.prepared", i%(foreign-1)), 0,
			[]byte("garbage"))
	}
	var more []eventlog.Aside
	for r, err := range l.Read(t.Context(), 0, 1) {
		if !errors.Is(err, eventlog.ErrUnreadable) {
			t.Fatal(err)
		}
		more = append(more, eventlog.Aside{From: r.Position.Seq, To: r.Position.Seq})
	}
	if n, err := l.SetAside(t.Context(), 0, more); err != nil || n != foreign || len(l.Asides(0)) != 1 {
		t.Fatalf("%d, %v: %d ranges", n, err, len(l.Asides(0)))
	}
	for _, name := range []eventlog.WorkflowName{"a-foreign-name-that-is-long-enough-0",
		"a-foreign-name-that-is-long-enough-7", "new"} {
		head, err := logtest.Head(l.Append(t.Context(), logtest.Entry(t, name, eventlog.Head{})))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), logtest.Entry(t, name, eventlog.Head{})); !errors.Is(err, eventlog.ErrConflict) {
			t.Errorf("a second first transition of %s: %v, want ErrConflict", name, err)
		}
		if _, err := l.Append(t.Context(), logtest.Entry(t, name, head)); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Count(names(t, l), " ") + 1; got != 6 {
		t.Errorf("read %d records, want 6: %s", got, names(t, l))
	}
}

// TestEndLostBehindWhatWasSetAside: where the log loses its end together with what an earlier acceptance set aside, the
// sequences are used again. What is written there counts, and follows what is left.
func TestEndLostBehindWhatWasSetAside(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill(6, 1000)
	server, l, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.SetAside(t.Context(), 0, []eventlog.Aside{{Workflow: "a", From: 3, To: 5},
		{From: 6, To: 6}}); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	server.Shutdown()
	change(t, last(s.blocks()), func(b []byte) []byte { return b[:len(b)*7/12] }) // three are left
	remove(t, filepath.Join(s.streamDir(), "msgs", "index.db"))
	server, _, err = s.open()
	if !errors.Is(err, eventlog.ErrDamaged) {
		t.Fatalf("opened: %v, want ErrDamaged", err)
	}
	nc := natstest.Connect(t, server)
	lost, err := jslog.AcceptLoss(t.Context(), nc, s.config())
	if err != nil || !lost.End {
		t.Fatalf("accepted %+v, %v; want the end", lost, err)
	}
	for range 2 { // and it is remembered
		l = mustOpen(t, nc, s.config())
		s.append(l, 1, 10)
		s.append(l, 1, 10)
		if got := l.Asides(0); len(got) != 1 || got[0] != (eventlog.Aside{Workflow: "a", From: 3, To: 3}) {
			t.Errorf("set aside: %+v, want what is still there", got)
		}
		if err := l.Recorded(t.Context(), 0, false); err != nil {
			t.Fatal(err)
		}
		if again, err := jslog.AcceptLoss(t.Context(), nc, s.config()); err != nil || len(again.Lines) != 0 {
			t.Errorf("accepted again: %+v, %v", again, err)
		}
	}
	if got, want := names(t, l), "a1 a2 a3 a4 a5 a6"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
}

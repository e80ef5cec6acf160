package lease

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A leader that was deposed and does not know it yet answers with entries of the past: those of the process that ran
// before under the name of this node. This one goes on, and says so again once it is answered by the new leader.
func TestAnOldEntryIsNoOtherProcess(t *testing.T) {
	t.Parallel()
	bubble(t, 2, func(e *engines) {
		a := e.start("a")
		e.pass(5 * time.Second)
		old, at, err := a.way.Get(t.Context(), "node.a")
		if err != nil {
			t.Fatal(err)
		}
		a.kill()
		<-a.ended
		again := e.start("a")
		e.pass(40 * time.Second)
		e.wantSpread(again)
		again.way.answerAs("node.a", old, at)
		e.pass(10 * time.Second)
		again.way.answerAs("", nil, 0)
		before := again.Nodes()["a"].Renewal
		e.pass(10 * time.Second)
		e.wantSpread(again)
		if now := again.Nodes()["a"].Renewal; now < before+4 {
			t.Errorf("it has renewed its entry %d times in 10 s", now-before)
		}
	})
}

// The renewal of a lease is refused because one before it was written, and what is read then is older than that: the
// lease holds on.
func TestAnOldEntryTakesNoLease(t *testing.T) {
	t.Parallel()
	w := &way{table: newTable()}
	k, err := New(Config{Bucket: w, Partitions: 1, Engine: "a-1", Node: "a", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	old, err := put(t.Context(), w, partitionKey(0), Entry{Engine: "b-1", Node: "b", Epoch: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	past, _, _ := w.Get(t.Context(), partitionKey(0))
	own := Entry{Engine: "a-1", Node: "a", Epoch: 2, Renewal: 1}
	at, err := put(t.Context(), w, partitionKey(0), own, old)
	if err != nil {
		t.Fatal(err)
	}
	l := k.newLease(0, own, at, k.cfg.Elapsed()+time.Hour)
	own.Renewal = 2 // its answer was lost
	if _, err := put(t.Context(), w, partitionKey(0), own, at); err != nil {
		t.Fatal(err)
	}
	w.answerAs(partitionKey(0), past, old)
	if k.renew(t.Context(), l) || !l.Holds() {
		t.Errorf("the lease holds: %t, %v", l.Holds(), l.Cause())
	}
	w.answerAs("", nil, 0)
	if !k.renew(t.Context(), l) || !l.Holds() {
		t.Errorf("with the new leader: the lease holds: %t, %v", l.Holds(), l.Cause())
	}
}

// A node says what this version does not understand. The others share the partitions without it, and name it once.
func TestANodeThatIsNotUnderstoodIsLeftOut(t *testing.T) {
	t.Parallel()
	bubble(t, 4, func(e *engines) {
		var logs bytes.Buffer // one engine writes to it
		if _, err := (&way{table: e.table}).Put(context.Background(), "node.z", []byte(`{"engine":["z"]}`), 0); err != nil {
			t.Fatal(err)
		}
		a := e.start("a", func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&logs, nil)) })
		b := e.start("b")
		e.pass(20 * time.Second)
		e.wantSpread(a, b)
		a.kill()
		<-a.ended
		if n := strings.Count(logs.String(), "does not understand"); n != 1 || !strings.Contains(logs.String(), "node=z") {
			t.Errorf("it says so %d times: %s", n, logs.String())
		}
	})
}

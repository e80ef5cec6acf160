package eventlog

import (
	"errors"
	"strings"
	"testing"
)

// past returns records of one workflow as a log would.
func past(t *testing.T, w WorkflowName, revisions int, seq uint64) []Record {
	t.Helper()
	var records []Record
	var head Head
	for range revisions {
		tr := sample(t, "run.committed")
		tr.Workflow = w
		e, err := NewEntry(tr, head)
		if err != nil {
			t.Fatal(err)
		}
		seq += 2
		if tr, err = Decode(e.Stored); err != nil {
			t.Fatal(err)
		}
		records = append(records, Record{Position: Position{Seq: seq}, Hash: e.Hash(), Size: len(e.Stored), Transition: tr})
		head = e.HeadAt(seq)
	}
	return records
}

func TestChain(t *testing.T) {
	a, b := past(t, "a", 5, 0), past(t, "b", 5, 1)
	var c Chain
	for i := range a {
		for _, r := range []Record{a[i], b[i]} {
			if err := c.Check(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c.Head("a") != a[4].Head() || c.Head("nobody") != (Head{}) {
		t.Errorf("head %+v", c.Head("a"))
	}
	var seeded Chain
	seeded.Seed("a", a[2].Head())
	if err := seeded.Check(a[3]); err != nil {
		t.Errorf("from a checkpoint: %v", err)
	}
}

func TestChainBreaks(t *testing.T) {
	a := past(t, "a", 6, 0)
	forged := a[3]
	forged.Prev = HashOf([]byte("another past"))
	backwards := a[3]
	backwards.Position.Seq = 1
	other := past(t, "b", 1, 0)[0]
	for name, c := range map[string]struct {
		record Record
		want   string
	}{
		"revision missing":  {a[5], "revisions 4 to 5"},
		"revision repeated": {func() Record { r := a[1]; r.Position.Seq = 99; return r }(), "repeats"},
		"other past":        {forged, "revision 4"},
		"out of order":      {backwards, "0:1"},
	} {
		var chain Chain
		for _, r := range a[:3] {
			if err := chain.Check(r); err != nil {
				t.Fatal(err)
			}
		}
		err := chain.Check(c.record)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), " a ") {
			t.Errorf("%s: %v", name, err)
		}
		if chain.Head("a") != a[2].Head() {
			t.Errorf("%s: the head moved to %+v", name, chain.Head("a"))
		}
		if err := chain.Check(other); err != nil {
			t.Errorf("%s: another workflow is affected: %v", name, err)
		}
	}
	var fresh Chain
	if err := fresh.Check(a[1]); !errors.Is(err, ErrDamaged) {
		t.Errorf("starts at revision 2: %v", err)
	}
}

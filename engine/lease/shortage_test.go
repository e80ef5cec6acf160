package lease

import (
	"testing"
	"time"
)

// A shortage is told once it has lasted, at the start at once, and its end once that has lasted longer.
func TestWhatAnEngineLacksIsToldOnceItLasts(t *testing.T) {
	t.Parallel()
	type look struct {
		at    time.Duration // in renewals
		lacks Shortage
		told  bool
	}
	for name, looks := range map[string][]look{
		"one that passes":  {{0, "", false}, {1, LacksDiskSpace, false}, {2, "", false}, {3, LacksDiskSpace, false}},
		"one that lasts":   {{0, "", false}, {1, LacksDiskSpace, false}, {2, LacksDiskSpace, true}},
		"one at the start": {{0, LacksDiskSpace, true}, {29, "", false}, {30, "", true}},
		"another one":      {{0, LacksDiskSpace, true}, {1, LacksStore, true}, {2, LacksStore, false}},
		"an end that does not last": {{0, LacksDiskSpace, true}, {20, "", false}, {29, LacksDiskSpace, false},
			{58, "", false}, {59, "", true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := notice{renew: time.Second}
			for _, l := range looks {
				if told := said.update(l.lacks, l.at*time.Second); told != l.told || told && said.told != l.lacks {
					t.Errorf("after %d renewals, lacking %q: told %t (%q), want %t", l.at, l.lacks, told, said.told, l.told)
				}
			}
		})
	}
}

// What an engine owns it has read, so a lack of records holds nothing of that.
func TestShortagesThatHold(t *testing.T) {
	t.Parallel()
	for s, want := range map[Shortage]bool{"": false, LacksRecords: false, LacksDiskSpace: true, LacksStore: true} {
		if got := s.Holds(); got != want {
			t.Errorf("%q holds: %t", s, got)
		}
	}
}

// An engine that lacks disk space gives its partitions to those that have some, all at once, and takes some again once
// it had enough for a minute. Where no other one could take them, each keeps what it said.
func TestAnEngineThatLacksSpaceHandsOver(t *testing.T) {
	t.Parallel()
	bubble(t, 6, func(e *engines) {
		a, b, c := e.start("a"), e.start("b"), e.start("c")
		e.pass(20 * time.Second)
		e.wantSpread(a, b, c)
		a.lack(LacksDiskSpace)
		e.pass(8 * time.Second)
		e.wantSpread(b, c)
		if told := b.Nodes()["a"]; told.Lacks != LacksDiskSpace || !told.Leaving {
			t.Errorf("the others are told %+v", told)
		}
		a.lack("")
		e.pass(50 * time.Second)
		a.lack(LacksDiskSpace)
		e.pass(5 * time.Second)
		a.lack("")
		e.pass(50 * time.Second)
		e.wantSpread(b, c) // it did not have enough for long
		b.lack(LacksStore)
		e.pass(8 * time.Second)
		e.wantSpread(c)
		e.pass(30 * time.Second)
		e.wantSpread(a, c)
		c.lack(LacksDiskSpace)
		e.pass(8 * time.Second)
		e.wantSpread(a)
		a.lack(LacksDiskSpace)
		e.pass(30 * time.Second)
		e.wantSpread(a) // no other one could take them
		a.kill()
		e.pass(takeAfter + 3*renewEvery)
		e.wantHeld(b, c) // by either, since neither hands a surplus over
		b.stop()
		<-b.ended
		e.pass(3 * time.Second)
		e.wantSpread(c)
		if n := c.Nodes()["c"]; n.Lacks != LacksDiskSpace {
			t.Errorf("the last one says %+v", n)
		}
		d := e.start("d")
		e.pass(8 * time.Second)
		e.wantSpread(d)
	})
}

// A partition that no engine gets on with has every engine say in turn that it lacks records. They can run the other
// partitions, and go on sharing them.
func TestEnginesThatLackRecordsShare(t *testing.T) {
	t.Parallel()
	bubble(t, 6, func(e *engines) {
		a, b, c := e.start("a"), e.start("b"), e.start("c")
		e.pass(20 * time.Second)
		e.wantSpread(a, b, c)
		a.lack(LacksRecords)
		e.pass(8 * time.Second)
		e.wantSpread(b, c)
		b.lack(LacksRecords)
		e.pass(8 * time.Second)
		e.wantSpread(c)
		c.lack(LacksRecords)
		e.pass(30 * time.Second)
		e.wantSpread(a, b, c)
		a.lack(LacksDiskSpace)
		e.pass(8 * time.Second)
		e.wantSpread(b, c)
	})
}

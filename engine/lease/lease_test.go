package lease

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// Where the configuration does not say otherwise, a lease is renewed every 2 s, held for 15 s and taken after 20 s.
func TestTimesOfALease(t *testing.T) {
	t.Parallel()
	k, err := New(Config{Bucket: &way{table: newTable()}, Partitions: 1, Node: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if k.cfg.Renew != 2*time.Second || k.cfg.holdFor() != holdFor || holdFor != 15*time.Second {
		t.Errorf("renewed every %s and held for %s", k.cfg.Renew, k.cfg.holdFor())
	}
	seen := view{renew: k.cfg.Renew, unchanged: takeAfter - 1}
	young := seen.stale()
	seen.unchanged++
	if young || !seen.stale() || takeAfter != 20*time.Second {
		t.Errorf("taken after less than %s: %t", takeAfter, young)
	}
}

// A lease whose taking was answered after its time is over from the beginning.
func TestALeaseThatIsOverAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, err := New(Config{Bucket: &way{table: newTable()}, Partitions: 1, Node: "a",
			Elapsed: func() time.Duration { return time.Hour }, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l := k.newLease(0, Entry{Engine: k.Engine(), Epoch: 1}, 1, time.Minute)
		<-l.Over()
		if l.Holds() || l.Cause() == nil {
			t.Errorf("it holds: %t, cause %v", l.Holds(), l.Cause())
		}
	})
}

// Where the leader of the bucket ends with an engine, its partitions are taken once the entries were seen long enough,
// and little later.
func TestATakeOverAfterAnElectionIsPrompt(t *testing.T) {
	t.Parallel()
	bubble(t, 7, func(e *engines) {
		a, b, c := e.start("a"), e.start("b"), e.start("c")
		e.pass(20 * time.Second)
		e.wantSpread(a, b, c)
		cut := func(cut bool) {
			for _, o := range []*owner{a, c} {
				o.way.mu.Lock()
				o.way.cut = cut
				o.way.mu.Unlock()
			}
		}
		b.kill()
		cut(true)
		e.pass(8 * time.Second)
		cut(false)
		e.pass(takeAfter + time.Second)
		e.wantHeld(a, c)
		e.pass(20 * time.Second) // one of them may have taken more than its share, and hands it over
		e.wantSpread(a, c)
	})
}

package lease

import (
	"testing"
	"time"
)

// Only time in which an entry was seen unchanged counts.
func TestViewCountsWhatWasSeen(t *testing.T) {
	t.Parallel()
	type look struct {
		at       time.Duration
		revision uint64 // 0: it could not be read
	}
	steady := func(from, to time.Duration, revision uint64) (all []look) {
		for at := from; at <= to; at += renewEvery {
			all = append(all, look{at, revision})
		}
		return all
	}
	for name, c := range map[string]struct {
		looks []look
		want  time.Duration
	}{
		"once":      {[]look{{time.Hour, 1}}, 0},
		"unchanged": {steady(0, 20*time.Second, 1), 20 * time.Second},
		"renewed":   {append(steady(0, 20*time.Second, 1), look{22 * time.Second, 2}), 0},
		"not readable for a minute": {
			append(append(steady(0, 10*time.Second, 1), look{12 * time.Second, 0}), steady(time.Minute, 64*time.Second, 1)...),
			14 * time.Second,
		},
		"stopped for a minute": {append(steady(0, 10*time.Second, 1), steady(time.Minute, 64*time.Second, 1)...),
			14 * time.Second},
	} {
		v := view{renew: renewEvery}
		for _, l := range c.looks {
			if l.revision == 0 {
				v.blind()
			} else {
				v.see(l.revision, l.at)
			}
		}
		if v.unchanged != c.want || v.stale() != (c.want >= takeAfter) {
			t.Errorf("%s: %s unchanged, want %s", name, v.unchanged, c.want)
		}
	}
}

// Each partition has an engine, and no engine has two more than another.
func TestShare(t *testing.T) {
	t.Parallel()
	for partitions := 1; partitions < 40; partitions++ {
		for engines := 1; engines < 12; engines++ {
			sum := 0
			for place := range engines {
				n := share(partitions, place, engines)
				if sum += n; n < partitions/engines || n > partitions/engines+1 {
					t.Errorf("%d of %d for %d engines", n, partitions, engines)
				}
			}
			if sum != partitions {
				t.Errorf("%d partitions for %d engines: %d have an owner", partitions, engines, sum)
			}
		}
	}
}

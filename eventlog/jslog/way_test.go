package jslog

import (
	"slices"
	"testing"
	"time"
)

// disk is what a server takes for a group, and how much work its clients have between two messages.
type disk struct {
	name                 string
	single, fixed, inOne time.Duration
}

func (d disk) write(n int, batch bool) time.Duration {
	if batch {
		return d.fixed + time.Duration(n)*d.inOne
	}
	return time.Duration(n) * d.single
}

// throughput simulates clients that each write one message, think, and write the next.
func throughput(d disk, clients int, think, length time.Duration, most func() int, batch func(n int) bool, wrote func(int, time.Duration), rested func(time.Duration)) int {
	ready := make([]time.Duration, clients)
	now, done := time.Duration(0), 0
	for now < length {
		if first := slices.Min(ready); first > now {
			rested(first - now)
			now = first
		}
		var group []int
		for i, at := range ready {
			if at <= now && len(group) < most() {
				group = append(group, i)
			}
		}
		took := d.write(len(group), batch(len(group)))
		now += took
		wrote(len(group), took)
		done += len(group)
		for k, i := range group {
			ready[i] = now + think + time.Duration(k)*think/time.Duration(clients) // they share the processor
		}
	}
	return done
}

// A committer that is always busy ends up with the way that writes more, whatever the disk and the
// load, and loses little by looking.
func TestTheBetterWayIsFound(t *testing.T) {
	t.Parallel()
	disks := []disk{
		{"cheap syncs, removing files is dear", 310 * time.Microsecond, 6500 * time.Microsecond, 150 * time.Microsecond},
		{"usual", 240 * time.Microsecond, 2 * time.Millisecond, 20 * time.Microsecond},
		{"dear syncs", 5 * time.Millisecond, 12 * time.Millisecond, 50 * time.Microsecond},
		{"batches of no use", 20 * time.Microsecond, 30 * time.Millisecond, 20 * time.Microsecond},
	}
	ignore := func(time.Duration) {}
	none := func(int, time.Duration) {}
	const limit = 500
	for _, d := range disks {
		for _, clients := range []int{2, 8, 64, 256} {
			const think, length = 4 * time.Millisecond, time.Minute
			best := 0
			for _, from := range []int{leastBatch, limit} {
				best = max(best, throughput(d, clients, think, length, func() int { return limit }, func(n int) bool { return n >= from }, none, ignore))
			}
			var c chooser
			got := throughput(d, clients, think, length, func() int { return c.most(limit) }, c.batches, c.wrote, c.rested)
			if float64(got) < 0.93*float64(best) {
				t.Errorf("%s, %d clients: %d messages written, the better way writes %d", d.name, clients, got, best)
			}
		}
	}
}

// Without pressure nothing is tried: single messages go out as they come.
func TestNoTrialWithoutPressure(t *testing.T) {
	t.Parallel()
	var c chooser
	for range 10000 {
		if c.batches(1) || c.trial {
			t.Fatal("a trial began, or a single message became a batch")
		}
		c.wrote(1, time.Millisecond)
		c.rested(time.Millisecond)
	}
}

// A trial on a slow disk holds nobody up for long: a group is cut.
func TestGroupsWrittenSinglyAreSmall(t *testing.T) {
	t.Parallel()
	single, batches := chooser{way: singly}, chooser{}
	if got := single.most(500); got != mostSingly {
		t.Errorf("a group written singly may have %d messages, want at most %d", got, mostSingly)
	}
	if got := batches.most(500); got != 500 {
		t.Errorf("a batch may have %d messages, want 500", got)
	}
}

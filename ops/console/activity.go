package console

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

const (
	// slot is the width of a bar of the chart, and day the period of the whole chart.
	slot = 15 * time.Minute
	day  = 24 * time.Hour

	slots = int(day / slot)
)

// Tally is what happened in one slot.
type Tally struct {
	Arrived int // inputs that came in from outside, or were found there
	Changed int // calls that were applied
	Done    int // events that were processed
	Failed  int // runs that failed, and events that were discarded in a transition without a failed run
}

func (t *Tally) add(o Tally) {
	t.Arrived += o.Arrived
	t.Changed += o.Changed
	t.Done += o.Done
	t.Failed += o.Failed
}

// activity counts facts of the log, and wakes the pages that wait for something new. It is safe for concurrent use.
type activity struct {
	log  eventlog.Log
	now  func() time.Time
	once sync.Once

	mu       sync.Mutex
	of       map[eventlog.WorkflowName]*lately
	revision uint64 // grows with each transition that was read
	changed  chan struct{}
	behind   int // how many partitions there are whose last day is not read yet
}

// lately is the last day of a workflow.
type lately struct {
	last    eventlog.Instant
	slots   map[int64]Tally          // by the number of the slot since 1970
	arrived map[int64]map[origin]int // inputs by the same number, and by their origin
}

// origin is the source of an input.
type origin struct{ source, kind string }

// maxOrigins bounds the origins that are counted separately in one slot: scripts choose their names.
const maxOrigins = 100

func newActivity(log eventlog.Log, now func() time.Time) *activity {
	return &activity{log: log, now: now, of: map[eventlog.WorkflowName]*lately{}, changed: make(chan struct{})}
}

// start begins to read the last day of the log, and then new records, until ctx ends.
func (a *activity) start(ctx context.Context) {
	a.once.Do(func() {
		a.behind = a.log.Partitions()
		for p := range a.log.Partitions() {
			go a.follow(ctx, p)
		}
	})
}

func (a *activity) follow(ctx context.Context, p int) {
	end, err := a.log.Last(ctx, p)
	from := uint64(1)
	if err == nil {
		from = a.dayAgo(ctx, p, end)
	}
	if from > end {
		a.caughtUp()
	}
	for ctx.Err() == nil {
		for record, err := range a.log.Watch(ctx, p, from) {
			if err != nil && !errors.Is(err, eventlog.ErrUnreadable) {
				break
			}
			from = max(from, record.Position.Seq+1)
			if err == nil {
				a.observe(record)
			}
			if record.Position.Seq == end {
				a.caughtUp()
			}
		}
		select { // after a failure the log is read again
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (a *activity) caughtUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.behind--
	a.wake()
}

// dayAgo finds the first sequence of the partition that is not older than a day by a binary search, since the times of
// a log rise with the sequence.
func (a *activity) dayAgo(ctx context.Context, p int, end uint64) uint64 {
	since := eventlog.At(a.now().Add(-day))
	low, high := uint64(1), end+1 // the answer lies between them, both included
	for low < high {
		middle := low + (high-low)/2
		at, known := eventlog.Instant(0), false
		for record, err := range a.log.Read(ctx, p, middle) {
			at, known = record.At, err == nil
			break
		}
		if known && at < since {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (a *activity) observe(r eventlog.Record) {
	if r.Workflow == eventlog.Installation {
		return
	}
	t := tallyOf(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.of[r.Workflow]
	if w == nil {
		w = &lately{slots: map[int64]Tally{}, arrived: map[int64]map[origin]int{}}
		a.of[r.Workflow] = w
	}
	w.last = max(w.last, r.At)
	at := slotOf(r.At.Time())
	if _, known := w.slots[at]; !known {
		for old := range w.slots {
			if old <= at-int64(slots) {
				delete(w.slots, old)
				delete(w.arrived, old)
			}
		}
	}
	sum := w.slots[at]
	sum.add(t)
	w.slots[at] = sum
	w.arrive(at, r.Facts)
	a.wake()
}

// arrive counts inputs by their origin.
func (w *lately) arrive(at int64, facts []eventlog.Fact) {
	for _, fact := range facts {
		in, ok := fact.(*eventlog.InputRegistered)
		if !ok {
			continue
		}
		if w.arrived[at] == nil {
			w.arrived[at] = map[origin]int{}
		}
		from := origin{in.Source, in.Type}
		if _, known := w.arrived[at][from]; known || len(w.arrived[at]) < maxOrigins {
			w.arrived[at][from]++
		}
	}
}

// arrived counts the inputs of the last day by their origin.
func (a *activity) arrived(name eventlog.WorkflowName) map[origin]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := map[origin]int{}
	w, first := a.of[name], slotOf(a.now())-int64(slots)+1
	if w == nil {
		return sum
	}
	for at, from := range w.arrived {
		for o, n := range from {
			if at >= first {
				sum[o] += n
			}
		}
	}
	return sum
}

// wake wakes all waiting pages. The caller holds the lock.
func (a *activity) wake() {
	a.revision++
	close(a.changed)
	a.changed = make(chan struct{})
}

func tallyOf(r eventlog.Record) Tally {
	t, aside := Tally{}, 0
	for _, fact := range r.Facts {
		switch fact.(type) {
		case *eventlog.InputRegistered:
			t.Arrived++
		case *eventlog.MutationApplied:
			t.Changed++
		case *eventlog.EventConsumed:
			t.Done++
		case *eventlog.RunFailed:
			t.Failed++
		case *eventlog.EventDiscarded:
			aside++
		}
	}
	if t.Failed == 0 {
		t.Failed = aside
	}
	return t
}

func slotOf(t time.Time) int64 { return t.Unix() / int64(slot/time.Second) }

// next returns how far the log was read, and a channel that is closed once it was read further.
func (a *activity) next() (uint64, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.revision, a.changed
}

// Chart is the last day of one workflow, or of all, oldest slot first.
type Chart struct {
	From  time.Time
	Slots []Tally
	Sum   Tally
	// Complete is false while the last day of the log is still being read.
	Complete bool
}

// chart is the chart of the workflows; nil means all.
func (a *activity) chart(names []eventlog.WorkflowName) Chart {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := slotOf(a.now())
	first := last - int64(slots) + 1
	c := Chart{From: time.Unix(first*int64(slot/time.Second), 0).UTC(), Slots: make([]Tally, slots),
		Complete: a.behind <= 0}
	for _, name := range names {
		w := a.of[name]
		if w == nil {
			continue
		}
		for at, t := range w.slots {
			if at >= first && at <= last {
				c.Slots[at-first].add(t)
				c.Sum.add(t)
			}
		}
	}
	return c
}

// last is the time of the workflow's newest transition within the last day; 0 for none.
func (a *activity) last(name eventlog.WorkflowName) eventlog.Instant {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.of[name]; w != nil {
		return w.last
	}
	return 0
}

package simulation

import (
	"encoding/json"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// book is the judge's own account of a workflow.
type book struct {
	name eventlog.WorkflowName
	// past[n] is the fold after revision n+1, seqs[n] where that stands.
	past     []projections.State
	seqs     []uint64
	phases   map[eventlog.RunID]eventlog.Phase
	ended    map[eventlog.RunID]bool
	awaiting map[eventlog.RunID]bool
	consumed map[eventlog.EventRef]bool
	// again are the consumed events that a person let happen again: their consumption was lost.
	again map[eventlog.EventRef]bool
	// calls, publications and consumptions are the starts and so on that the log cannot tell of any more.
	calls        unreadable[eventlog.MutationID]
	publications unreadable[eventlog.EventRef]
	consumptions unreadable[eventlog.EventRef]
	open         map[eventlog.MutationID]eventlog.RunID // not known to have happened or not
	keys         map[eventlog.MutationID]string
	written      map[*node]uint64 // the last revision of each engine's own
	lost         int              // the place of the first record that is lost and not cut off yet; 0 for none
	writer       *node            // of the record that is looked at; nil for one of the dead
	wakes        wakes
	abreast      abreast
}

// state is the fold of the workflow's log; the zero state before its first record.
func (b *book) state() projections.State {
	if len(b.past) == 0 {
		return projections.State{}
	}
	return b.past[len(b.past)-1]
}

func (b *book) run(id eventlog.RunID) *projections.Run {
	s := b.state()
	return s.Run(id)
}

// wakes records which run has looked at which event: an event may stay pending only if an empty run
// has seen it and left it (S3).
type wakes struct {
	// became counts how often an event became pending.
	became map[eventlog.EventRef]int
	// peeked is what each prepare could see, by its chain's tag; left is what empty runs left.
	peeked map[int]map[eventlog.EventRef]int
	left   map[eventlog.EventRef]int
}

func newWakes() wakes {
	return wakes{became: map[eventlog.EventRef]int{}, peeked: map[int]map[eventlog.EventRef]int{},
		left: map[eventlog.EventRef]int{}}
}

// fact follows one fact of the workflow's log.
func (k *wakes) fact(b *book, f eventlog.Fact) {
	switch f := f.(type) {
	case *eventlog.EventPublished:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.EventReleased:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.EventRetryScheduled:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.EventRedriven:
		k.became[eventlog.EventRef{Topic: f.Topic, MessageID: f.MessageID}]++
	case *eventlog.WorkflowDeployed:
		clear(k.left) // a new version looks at everything again
	case *eventlog.RunCommitted:
		run := b.run(f.Run)
		var result struct{ Data prepared }
		if run.Type != eventlog.ConsumerHandler || run.RetryOf != "" || len(run.Reserved) > 0 ||
			json.Unmarshal(run.PrepareResult, &result) != nil {
			return
		}
		for ref, n := range k.peeked[result.Data.Tag] {
			k.left[ref] = n
		}
	}
}

// barrier is the record that allows a request to leave.
type barrier struct {
	key      string
	revision uint64
}

// unreadable are the facts whose own record cannot be read any more, by what they are about. An acceptance cannot
// know them, unless a later record or a store tells of them; those that one has learned of, later ones know too.
type unreadable[K comparable] struct{ record, learned map[K]bool }

func newUnreadable[K comparable]() unreadable[K] {
	return unreadable[K]{record: map[K]bool{}, learned: map[K]bool{}}
}

// spoilt notes that the fact's own record cannot be read any more.
func (u unreadable[K]) spoilt(k K) {
	u.record[k] = true
	u.forgotten(k)
}

// forgotten notes that the record by which an acceptance kept the fact cannot be read any more.
func (u unreadable[K]) forgotten(k K) { delete(u.learned, k) }

// unknown reports whether an acceptance need not know the fact; one that does know it is bound to keep it.
func (u unreadable[K]) unknown(k K, known bool) bool {
	if known {
		u.learned[k] = true
	}
	return u.record[k] && !u.learned[k]
}

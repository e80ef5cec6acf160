package feed

import (
	"sync"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// The bounds of the records that wait in memory to be published. Records that do not fit are read from the log later.
const (
	backlogRecords = 4096
	backlogBytes   = 16 << 20
)

// backlog holds the records that were observed and are not published. Workflows are applied in parallel, so records
// come out of order.
type backlog struct {
	mu      sync.Mutex
	records []map[uint64]observed // by partition
	highest []uint64              // the highest sequence seen, by partition
	next    []uint64              // the next one to publish, by partition
	// confirmed is the sequence up to which everything is published and acknowledged, by partition.
	confirmed []uint64
	count     int
	bytes     int
	added     chan struct{} // holds a token after each record that was added
	progress  chan struct{} // closed and replaced when confirmed changes
}

// observed is a record, and the time at which it was observed.
type observed struct {
	record eventlog.Record
	at     time.Time
}

func newBacklog(partitions int) *backlog {
	b := &backlog{
		records: make([]map[uint64]observed, partitions), highest: make([]uint64, partitions),
		next: make([]uint64, partitions), confirmed: make([]uint64, partitions),
		added: make(chan struct{}, 1), progress: make(chan struct{}),
	}
	for p := range b.records {
		b.records[p] = make(map[uint64]observed)
	}
	return b
}

// add adds a record, if there is room for it.
func (b *backlog) add(r eventlog.Record, now time.Time) {
	p, seq := r.Position.Partition, r.Position.Seq
	b.mu.Lock()
	defer b.mu.Unlock()
	if p >= len(b.records) || seq < b.next[p] {
		return
	}
	b.highest[p] = max(b.highest[p], seq)
	if _, known := b.records[p][seq]; !known && b.count < backlogRecords && b.bytes+r.Size <= backlogBytes {
		b.records[p][seq] = observed{r, now}
		b.count++
		b.bytes += r.Size
	}
	select {
	case b.added <- struct{}{}:
	default:
	}
}

// begin sets where publishing goes on in each partition, and where its log ends.
func (b *backlog) begin(next, ends []uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p, seq := range next {
		b.move(p, seq)
		b.highest[p] = max(b.highest[p], ends[p])
		b.confirmed[p] = seq - 1
	}
	b.progressed()
}

// take returns the next record of the partition, if it is here.
func (b *backlog) take(p int) (observed, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, ok := b.records[p][b.next[p]]
	if ok {
		b.move(p, b.next[p]+1)
	}
	return o, ok
}

// pass notes that the partition is published up to and including seq.
func (b *backlog) pass(p int, seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.move(p, seq+1)
}

// upcoming is the next sequence of the partition that is to be published.
func (b *backlog) upcoming(p int) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next[p]
}

// holds reports whether the next record of the partition is here.
func (b *backlog) holds(p int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.records[p][b.next[p]]
	return ok
}

// overtaken reports whether a later record than the partition's next one was seen.
func (b *backlog) overtaken(p int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.records[p][b.next[p]]
	return !ok && b.highest[p] >= b.next[p]
}

// lag is how many transitions of the partition are in the log, as far as is known, and not published.
func (b *backlog) lag(p int) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.highest[p] - min(b.confirmed[p], b.highest[p])
}

// confirm notes that everything that was taken or passed is published and acknowledged.
func (b *backlog) confirm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p, next := range b.next {
		b.confirmed[p] = next - 1
	}
	b.progressed()
}

// progressed wakes the callers that wait. The caller locks.
func (b *backlog) progressed() {
	close(b.progress)
	b.progress = make(chan struct{})
}

// outstanding is closed at the next progress; nil where every observed record is published.
func (b *backlog) outstanding() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p, seq := range b.highest {
		if seq > b.confirmed[p] {
			return b.progress
		}
	}
	return nil
}

// saw notes the end of the partition's log.
func (b *backlog) saw(p int, last uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.highest[p] = max(b.highest[p], last)
}

// move makes next the partition's next sequence. The caller locks.
func (b *backlog) move(p int, next uint64) {
	drop := func(seq uint64) {
		if o, ok := b.records[p][seq]; ok {
			b.count--
			b.bytes -= o.record.Size
			delete(b.records[p], seq)
		}
	}
	if next == b.next[p]+1 {
		drop(b.next[p])
	} else {
		for seq := range b.records[p] {
			if seq < next {
				drop(seq)
			}
		}
	}
	b.next[p] = next
}

package node

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The collector by default lets a heap double before it looks for garbage. An engine's live heap is mostly caches that
// grow and shrink with the load, above all the messages that the embedded server wrote to the log in the last ten
// seconds; by default the process of a quiet engine would be twice as large as these. A busy engine may take more: each
// collection looks at all that lives, and with leastRoom alone a busy engine finished a seventh fewer items.
const (
	// leastRoom is how much garbage a heap of leastRoom or more may hold before it is collected, in bytes. A smaller heap
	// may hold the same part of its size.
	leastRoom = 32 << 20
	// mostRoom takes the place of leastRoom where so much is allocated that a heap would be collected more than about
	// three times a second. With 96 MiB a busy engine finished one item more in a hundred, and took 25 MiB more.
	mostRoom = 64 << 20
	// leastPercent is the least garbage that a large heap may hold, in percent of what lives: less costs too much
	// processor time.
	leastPercent = 33
	// heapPeriod is how often the heap is looked at.
	heapPeriod = 250 * time.Millisecond
	// restBytes is how much may be allocated in a period for the engine to count as at rest.
	restBytes = 256 << 10
	// keptBytes is how much more than the live heap the process may keep while it rests.
	keptBytes = 24 << 20
)

// A process at rest gives memory back after restShort, and once more after restLong: ten seconds after the last write
// the embedded server drops its caches.
const (
	restShort = int(3 * time.Second / heapPeriod)
	restLong  = int(15 * time.Second / heapPeriod)
)

// gcPercent is how much a heap may grow over its live part before it is collected, in percent. live is what lives, and
// allocated is what was allocated in the last heapPeriod, in bytes.
func gcPercent(live, allocated uint64) int {
	room := min(max(allocated*3/2, leastRoom), mostRoom) // no more than three collections a second, within the bounds
	return max(int(100*room/max(live, leastRoom)), leastPercent)
}

// TendHeap keeps the garbage of the process within the bounds of gcPercent, until ctx ends. It does nothing when the
// environment configures the collector.
func TendHeap(ctx context.Context) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := os.LookupEnv(name); set {
			return
		}
	}
	ticker := time.NewTicker(heapPeriod)
	defer ticker.Stop()
	h := heap{trim: debug.FreeOSMemory}
	for {
		select {
		case <-ticker.C:
			h.look(readHeap())
		case <-ctx.Done():
			return
		}
	}
}

// heapSize is the memory of the process as the runtime reports it, in bytes.
type heapSize struct{ live, held, allocated uint64 }

func readHeap() heapSize {
	s := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(s)
	return heapSize{live: s[0].Value.Uint64(), held: s[1].Value.Uint64() - s[2].Value.Uint64(),
		allocated: s[3].Value.Uint64()}
}

// heap is the state of TendHeap.
type heap struct {
	trim    func()
	percent int
	last    heapSize
	rests   int // periods in a row without much allocation
}

func (h *heap) look(now heapSize) {
	allocated := now.allocated - h.last.allocated
	if p := gcPercent(now.live, allocated); p < h.percent-5 || p > h.percent+5 {
		h.percent = p
		debug.SetGCPercent(p)
	}
	if allocated > restBytes {
		h.rests = 0
	} else {
		h.rests++
	}
	h.last = now
	if (h.rests == restShort || h.rests == restLong) && now.held > now.live/2+keptBytes {
		h.trim()
	}
}

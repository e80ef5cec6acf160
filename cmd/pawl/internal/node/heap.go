package node

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The collector lets a heap double before it looks for garbage. An engine's live heap is mostly caches that come
// and go with the load, above all the last ten seconds of the log in the embedded server, so that would
// double them too.
const (
	// headroom is what may be garbage on top of a live heap that is larger than that.
	headroom = 32 << 20
	// roomy is the live heap above which headroom grows: there collecting would cost too much else.
	roomy = 128 << 20
	// lull is the most that is allocated in a second in which the engine rests.
	lull = 1 << 20
	// hoard is how much more than the live heap the process may keep while it rests.
	hoard = 24 << 20
)

// gcPercent is how much a heap may grow over what lives before it is collected, in percent.
func gcPercent(live uint64) int {
	room := min(live, headroom)
	if live > roomy {
		room += live - roomy
	}
	if live == 0 {
		return 100
	}
	return int(100 * room / live)
}

// tendHeap keeps the process about as small as what it holds, until ctx ends. It does nothing when the
// environment says how the collector is to be run.
func tendHeap(ctx context.Context) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := os.LookupEnv(name); set {
			return
		}
	}
	ticker := time.NewTicker(time.Second)
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

// heapSize is what the runtime says of itself, in bytes.
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

// heap is what tendHeap has done so far.
type heap struct {
	trim    func()
	percent int
	last    heapSize
	rests   int // seconds in a row without much allocation
}

func (h *heap) look(now heapSize) {
	if p := gcPercent(now.live); p < h.percent-5 || p > h.percent+5 {
		h.percent = p
		debug.SetGCPercent(p)
	}
	if now.allocated-h.last.allocated > lull {
		h.rests = 0
	} else {
		h.rests++
	}
	h.last = now
	// After ten seconds the embedded server lets go of what it has cached.
	if (h.rests == 3 || h.rests == 15) && now.held > now.live/2+hoard {
		h.trim()
	}
}

package node

import (
	"runtime/debug"
	"testing"
)

// Where little is allocated, a small heap may double, one of some size has a fixed room for garbage, a large one a
// third. Where much is allocated, the room is larger, within bounds.
func TestHeapRoom(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct {
		live, allocated uint64
		want            int
	}{
		{0, 0, 100}, {10 * mib, 0, 100}, {32 * mib, 0, 100}, {64 * mib, 0, 50}, {80 * mib, 0, 40}, {256 * mib, 0, 33},
		{1024 * mib, 0, 33}, {64 * mib, 20 * mib, 50}, {64 * mib, 32 * mib, 75}, {64 * mib, 64 * mib, 100},
		{64 * mib, 1024 * mib, 100}, {10 * mib, 1024 * mib, 200}, {1024 * mib, 1024 * mib, 33},
	} {
		if got := gcPercent(c.live, c.allocated); got != c.want {
			t.Errorf("%d MiB may grow by %d %% where %d MiB are allocated in a period, want %d", c.live/mib, got,
				c.allocated/mib, c.want)
		}
	}
}

// Memory goes back to the system when the engine comes to rest, and not before.
func TestHeapIsTrimmedAtRest(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	trimmed := 0
	h := heap{trim: func() { trimmed++ }}
	now := heapSize{live: 60 << 20, held: 90 << 20}
	for range 4 * 10 {
		now.allocated += 2 * restBytes
		h.look(now)
	}
	if trimmed != 0 {
		t.Errorf("trimmed %d times at work", trimmed)
	}
	for range 4 * 60 {
		now.allocated += restBytes / 2
		h.look(now)
	}
	if trimmed != 2 {
		t.Errorf("trimmed %d times in a minute of rest, want 2", trimmed)
	}
	small := heap{trim: func() { t.Error("trimmed a small heap") }}
	for range 4 * 60 {
		small.look(heapSize{live: 20 << 20, held: 30 << 20})
	}
}

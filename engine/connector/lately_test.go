package connector

import (
	"fmt"
	"testing"
)

// The latest values are kept, whatever was kept before; no more than twice as many are, and nothing large.
func TestLatelyKeepsTheLatest(t *testing.T) {
	t.Parallel()
	var l Lately[int]
	params := []byte(nil)
	for i := range 5 * maxLately {
		params = fmt.Appendf(params[:0], "%d", i) // the caller's memory is used again
		l.Put(params, i)
		for _, back := range []int{0, 1, maxLately - 1} {
			if at := i - back; at >= 0 {
				if got, kept := l.Get(fmt.Appendf(nil, "%d", at)); !kept || got != at {
					t.Fatalf("after %d values, %d is %d, %v", i, at, got, kept)
				}
			}
		}
		if _, kept := l.Get(fmt.Appendf(nil, "%d", i-2*maxLately)); kept {
			t.Fatalf("after %d values, that of %d is still kept", i, i-2*maxLately)
		}
	}
	if n := len(l.latest) + len(l.before); n > 2*maxLately {
		t.Errorf("%d values are kept, want at most %d", n, 2*maxLately)
	}
	large := make([]byte, maxLatelyParams+1)
	l.Put(large, 1)
	if _, kept := l.Get(large); kept {
		t.Error("large parameters are kept")
	}
}

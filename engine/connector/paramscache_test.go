package connector

import (
	"fmt"
	"testing"
)

// The latest values are kept, whatever was kept before; no more than twice as many are, and none of large parameters.
func TestParamsCacheKeepsTheLatest(t *testing.T) {
	t.Parallel()
	var c ParamsCache[int]
	params := []byte(nil)
	for i := range 5 * maxCached {
		params = fmt.Appendf(params[:0], "%d", i) // the caller's memory is used again
		c.Put(params, i)
		for _, back := range []int{0, 1, maxCached - 1} {
			if at := i - back; at >= 0 {
				if got, kept := c.Get(fmt.Appendf(nil, "%d", at)); !kept || got != at {
					t.Fatalf("after %d values, %d is %d, %v", i, at, got, kept)
				}
			}
		}
		if _, kept := c.Get(fmt.Appendf(nil, "%d", i-2*maxCached)); kept {
			t.Fatalf("after %d values, that of %d is still kept", i, i-2*maxCached)
		}
	}
	if n := len(c.latest) + len(c.before); n > 2*maxCached {
		t.Errorf("%d values are kept, want at most %d", n, 2*maxCached)
	}
	large := make([]byte, maxCachedParams+1)
	c.Put(large, 1)
	if _, kept := c.Get(large); kept {
		t.Error("large parameters are kept")
	}
}

// The kept values have a bound in bytes, too: large parameters leave room for fewer values.
func TestParamsCacheIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	var c ParamsCache[int]
	for i := range 5 * maxCachedBytes / maxCachedParams {
		params := fmt.Appendf(nil, "%*d", maxCachedParams, i)
		c.Put(params, i)
		if got, kept := c.Get(params); !kept || got != i {
			t.Fatalf("%d is %d, %v", i, got, kept)
		}
		bytes := 0
		for _, half := range []map[string]int{c.latest, c.before} {
			for params := range half {
				bytes += len(params)
			}
		}
		if bytes > 2*maxCachedBytes {
			t.Fatalf("parameters of %d bytes are kept, want at most %d", bytes, 2*maxCachedBytes)
		}
	}
}

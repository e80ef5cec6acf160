package mailparse

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatIsRememberedIsBounded(t *testing.T) {
	h := NewHeads(func(a, b int) bool { return a == b })
	long := strings.Repeat("x", 1<<20)
	for i := range 100 {
		id := fmt.Sprint(i)
		h.Put(id, i, Head{ID: id, Subject: long})
		if _, ok := h.Get(id, i); !ok || h.bytes > maxRemembered {
			t.Fatalf("mail %d: remembered %v, %d bytes in all", i, ok, h.bytes)
		}
		if _, ok := h.Get(id, i+1); ok {
			t.Fatalf("mail %d: another state is taken for the one that was looked at", i)
		}
	}
	for id := range h.heads {
		h.remove(id)
	}
	if h.bytes != 0 {
		t.Errorf("%d bytes of nothing", h.bytes)
	}
}

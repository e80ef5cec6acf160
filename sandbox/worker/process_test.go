package worker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestLoadedScripts: a script's text goes to a worker once, and the one that was used least recently makes room.
func TestLoadedScripts(t *testing.T) {
	t.Parallel()
	small, large := sandbox.Source{Code: "1"}, sandbox.Source{Code: strings.Repeat("x", maxLoadedBytes)}
	l := newLoaded()
	for id := range uint64(maxLoaded) {
		if _, ref := l.use(id, &small); ref.source == nil || len(ref.forget) != 0 {
			t.Fatalf("script %d: %+v", id, ref)
		}
	}
	first, ref := l.use(0, &small)
	if ref.source != nil || first.id != 0 {
		t.Errorf("a script that is there: %+v", ref)
	}
	if _, ref := l.use(maxLoaded, &small); !slices.Equal(ref.forget, []uint64{1}) {
		t.Errorf("%v made room", ref.forget)
	}
	if l.has(1) || !l.has(0) {
		t.Errorf("it has 1: %t, 0: %t", l.has(1), l.has(0))
	}
	if _, ref := l.use(1000, &large); len(ref.forget) != maxLoaded || l.size != maxLoadedBytes || !l.has(1000) {
		t.Errorf("%d made room for a large one, it holds %d bytes", len(ref.forget), l.size)
	}
}

// TestNumberedScripts: a text keeps its number as long as the pool keeps the text. It keeps a limited number of texts,
// and of bytes of them.
func TestNumberedScripts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ texts, size int }{{maxNumbered + 10, 10}, {100, 1_000_000}} {
		p := &Pool{ids: make(map[sandbox.Source]uint64)}
		for i := range test.texts {
			source := sandbox.Source{Code: fmt.Sprintf("%0*d", test.size, i)}
			if id := p.identify(source); id != uint64(i)+1 || id != p.identify(source) {
				t.Fatalf("text %d has number %d", i, id)
			}
		}
		kept := len(p.ids)
		if kept >= test.texts || kept*test.size > maxNumberedBytes || kept*test.size != p.idText {
			t.Errorf("the pool keeps %d of %d texts, and counts %d bytes", kept, test.texts, p.idText)
		}
	}
}

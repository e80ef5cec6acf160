package worker

import (
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestNear: a script is at hand where an idle process has it, and where it must be compiled in any case.
func TestNear(t *testing.T) {
	t.Parallel()
	source := sandbox.Source{Code: "1"}
	with := func(ids ...uint64) *process {
		w := &process{loaded: newLoaded()}
		for _, id := range ids {
			w.loaded.use(id, &source)
		}
		return w
	}
	busy, idle := with(1, 2), with(2, 3)
	p := &Pool{all: []*process{busy, idle}, idle: []*process{idle}}
	for id, want := range []bool{1: false, 2: true, 3: true, 4: true} {
		if id > 0 && p.near(&waiter{script: uint64(id)}) != want {
			t.Errorf("script %d is near: %t", id, !want)
		}
	}
	if !p.near(&waiter{script: 1, process: true}) {
		t.Error("a call that has its process is not near")
	}
}

package decide_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
)

// R14: more runs than one transition has room for crash in several, also those of the engine that has lost its lease
// and has it again.
func TestR14_ManyRunsCrashInParts(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"E1", "E2"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			const runs = 1100
			b := newBench(t)
			b.must(fmt.Sprintf("deploy n=%d", runs))
			var ids []string
			for i := range runs {
				ids = append(ids, fmt.Sprint("e", i))
			}
			b.must("push " + strings.Join(ids, " "))
			for b.state.Places("c") < runs {
				b.must("tick")
			}
			b.engine = engine
			c := decide.Recover{Found: b.state.Head.Revision}
			crashed := 0
			for c.Left(b.state, b.engine) {
				b.mustDo(c)
				n := 0
				for _, f := range b.last.Facts {
					if f.FactType() == "run.crashed" {
						n++
					}
				}
				if n == 0 || n > 256 {
					t.Fatalf("one transition crashes %d runs", n)
				}
				crashed += n
			}
			if crashed != runs {
				t.Fatalf("%d of %d runs are crashed", crashed, runs)
			}
		})
	}
}

// R14: a run that was given its place back since the runner took over is at work.
func TestR14_ARunThatCameBackIsAtWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("deploy n=1 grant=ask", "push a", "prepare a run=R1", "mutate call run=R1")
	c := decide.Recover{Found: b.state.Head.Revision}
	b.must("reject R1")
	if b.state.Places("c") != 1 || c.Left(b.state, b.engine) {
		t.Fatalf("%d runs have a place, and a recovery would crash some", b.state.Places("c"))
	}
}

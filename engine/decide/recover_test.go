package decide_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
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
				ids = append(ids, fmt.Sprintf("%s%d", strings.Repeat("x", 500), i))
			}
			b.must("push " + strings.Join(ids, " "))
			for b.state.Places("c") < runs {
				b.must("tick")
			}
			b.engine = engine
			c := decide.Recover{Found: b.state.Head.Revision}
			crashed := 0
			for n := 1; c.Left(b.state, b.engine); n++ {
				b.mustDo(c)
				for _, f := range b.last.Facts {
					if f.FactType() == "run.crashed" {
						crashed++
					}
				}
				entry, err := eventlog.NewEntry(b.last.Transition(workflow, decide.Env{Now: b.now}), b.state.Head)
				if err != nil {
					t.Fatal(err)
				}
				if n > 2 || len(entry.Stored) > 4<<20 {
					t.Fatalf("transition %d has %d bytes", n, len(entry.Stored))
				}
			}
			if crashed != runs {
				t.Fatalf("%d of %d runs are crashed", crashed, runs)
			}
		})
	}
}

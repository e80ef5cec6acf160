package engine_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/handler"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

const sightWorkflow = `
export default Keep.workflow({
  name: "sight",
  topics: { t: {} },
  consumers: { look: Keep.consumer({ subscribe: ["t"], async prepare(ctx) {
    ctx.log("looking");
    const some = (await ctx.peek("t")).length;
    const one = (await ctx.getByIds("t", ["m0", "m399", "m399"])).map(e => e.messageId + " " + e.status);
    const all = (await ctx.peek("t", { limit: 5000 })).length;
    return { reservations: [{ topic: "t", ids: (await ctx.peek("t", { limit: 100 })).map(e => e.id) }], data: { some, one, all } };
  } }) },
});
`

// A script sees as far as it looks, though what goes in with a call is only the beginning; what it
// says is logged once. By its id it finds an event whatever its status (R19).
func TestPrepareSeesAsFarAsItLooks(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	var mu sync.Mutex
	said := map[eventlog.RunID]int{}
	b.Config.RunLog = func(_ eventlog.WorkflowName, run eventlog.RunID, _ eventlog.Handler, lines []sandbox.LogLine) {
		mu.Lock()
		defer mu.Unlock()
		for _, line := range lines {
			if line.Level != handler.LevelCall {
				said[run]++
			}
		}
	}
	e := b.Start()
	e.MustDeploy(sightWorkflow)
	e.Rest("sight")
	if err := e.Operate(t.Context(), enginetest.Tester, "sight", decide.Pause{}, "pause"); err != nil {
		t.Fatal(err)
	}
	for part := range 12 {
		var ids []string
		for i := range 100 {
			ids = append(ids, fmt.Sprint("m", 100*part+i))
		}
		e.MustPush("sight", "t", ids...)
	}
	if err := e.Operate(t.Context(), enginetest.Tester, "sight", decide.Resume{}, "resume"); err != nil {
		t.Fatal(err)
	}
	e.Rest("sight")

	full := b.FullFold("sight")
	seen := map[string]int{}
	for id, run := range full.Runs() {
		var result struct{ Data json.RawMessage }
		if err := json.Unmarshal(run.PrepareResult, &result); err != nil {
			t.Fatal(err)
		}
		seen[string(result.Data)]++
		if said[id] != 1 {
			t.Errorf("run %s logged %d lines, want 1", id, said[id])
		}
	}
	for _, want := range []string{
		`{"some":0,"one":[],"all":0}`,
		`{"some":100,"one":["m0 pending","m399 pending"],"all":1000}`,
		`{"some":100,"one":["m0 consumed","m399 pending"],"all":1000}`,
		`{"some":100,"one":["m0 consumed","m399 consumed"],"all":800}`,
		`{"some":100,"one":["m0 consumed","m399 consumed"],"all":100}`,
		`{"some":0,"one":["m0 consumed","m399 consumed"],"all":0}`,
	} {
		if seen[want] == 0 {
			t.Errorf("no run saw %s", want)
		}
	}
}

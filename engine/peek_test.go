package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
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

// cursorWorkflow turns over all pages, and reserves what it has seen.
const cursorWorkflow = `
export default Keep.workflow({
  name: "pages",
  topics: { t: {} },
  consumers: { look: Keep.consumer({ subscribe: ["t"], async prepare(ctx) {
    const pages = [], ids = [];
    let page = await ctx.peek("t", { limit: 1 });
    while (page.length > 0) {
      pages.push(page.length);
      ids.push(...page.map(e => e.id));
      page = await ctx.peek("t", { limit: 700, after: ids.at(-1) });
    }
    if (ids.length === 0) return { reservations: [], data: null };
    const few = (await ctx.peek("t", { limit: 2, after: "m0" })).map(e => e.id);
    return { reservations: [{ topic: "t", ids }], data: { pages, few, last: ids.at(-1), all: new Set(ids).size } };
  } }) },
});
`

// A cursor leads to each pending event, also beyond what goes in with a call, and what it leads to may be reserved.
func TestPeekGoesOnAfterAnEvent(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	e := b.Start()
	e.MustDeploy(cursorWorkflow)
	e.Rest("pages")
	if err := e.Operate(t.Context(), enginetest.Tester, "pages", decide.Pause{}, "pause"); err != nil {
		t.Fatal(err)
	}
	for part := range 15 {
		var ids []string
		for i := range 100 {
			ids = append(ids, fmt.Sprint("m", 100*part+i))
		}
		e.MustPush("pages", "t", ids...)
	}
	if err := e.Operate(t.Context(), enginetest.Tester, "pages", decide.Resume{}, "resume"); err != nil {
		t.Fatal(err)
	}
	e.Rest("pages")
	var prepared []string
	full := b.FullFold("pages")
	for _, run := range full.Runs() {
		if len(run.Reserved) > 0 {
			prepared = append(prepared, string(run.PrepareResult))
		}
	}
	want := `"data":{"pages":[1,700,700,99],"few":["m1","m2"],"last":"m1499","all":1500}`
	if len(prepared) != 1 || !strings.Contains(prepared[0], want) {
		t.Errorf("prepared %.200q, want one run with %s", prepared, want)
	}

	// Not even a consumed event has lost its place; one that there never was is the script's fault.
	e.MustDeploy(strings.Replace(cursorWorkflow, `{ limit: 1 }`, `{ after: "m1499" }`, 1))
	if s := e.Rest("pages"); s.Maintenance != nil {
		t.Errorf("after a consumed event: %+v", s.Maintenance)
	}
	e.MustDeploy(strings.Replace(cursorWorkflow, `{ limit: 1 }`, `{ after: "gone" }`, 1))
	s := e.Rest("pages")
	if s.Maintenance == nil {
		t.Fatal("a cursor that there never was is let through")
	}
	full = b.FullFold("pages")
	if f := full.Run(s.Maintenance.Run).Failure; f == nil || f.Class != eventlog.Logic ||
		!strings.Contains(f.Message, `topic t has no event "gone" to go on after`) {
		t.Errorf("after an event that is not there: %+v", f)
	}
}

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

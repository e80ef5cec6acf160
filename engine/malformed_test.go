package engine_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
)

// R19: getByIds finds an event that is done, and reserving it is the author's fault (R9).
func TestR19_ReservingWhatIsConsumed(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	e := b.Start()
	e.MustDeploy(`
export default Keep.workflow({
  name: "again",
  topics: { t: {}, other: {} },
  consumers: { look: Keep.consumer({ subscribe: ["t"], async prepare(ctx) {
    const [first] = await ctx.getByIds("t", ["a"]);
    const [event] = await ctx.peek("t");
    if (!event) return { reservations: [], data: null };
    if (event.id === "stop") return { reservations: [{ topic: "t", ids: [first.id] }], data: first.status };
    return { reservations: [{ topic: "t", ids: [event.id] }], data: first.status };
  } }) },
});
`)
	e.MustPush("again", "t", "a")
	e.Rest("again")
	e.MustPush("again", "t", "stop")
	e.Rest("again")
	codes := ""
	full := b.FullFold("again")
	for _, run := range full.Runs() {
		if run.Failure != nil {
			codes += string(run.Failure.Class) + " " + run.Failure.Code + " "
		}
	}
	if codes != "logic reservation.notPending " {
		t.Errorf("the runs failed with %q", codes)
	}
}

// R19: a prepare result without reservations is the script's fault, with its line.
func TestR19_MalformedPrepareResult(t *testing.T) {
	t.Parallel()
	b := enginetest.New(t)
	e := b.Start()
	e.MustDeploy(`
export default Keep.workflow({
  name: "shapeless",
  topics: { t: {} },
  consumers: { look: Keep.consumer({ subscribe: ["t"], async prepare(ctx) {
    const result = JSON.parse('{"data":1}');
    return result;
  } }) },
});
`)
	e.Rest("shapeless")
	full := b.FullFold("shapeless")
	runs := 0
	for id, run := range full.Runs() {
		runs++
		f := run.Failure
		if f == nil || f.Class != eventlog.Logic || f.Code != "prepare.result" || f.Line != 7 ||
			!strings.Contains(f.Message, "reservations is missing") {
			t.Errorf("run %s ended with %+v", id, f)
		}
	}
	if runs != 1 || full.Maintenance == nil {
		t.Errorf("%d runs, maintenance %v", runs, full.Maintenance)
	}
}

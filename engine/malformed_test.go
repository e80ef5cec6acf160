package engine_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
)

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
	for id, run := range full.Runs() {
		f := run.Failure
		if f == nil || f.Class != eventlog.Logic || f.Code != "prepare.result" || f.Line != 7 || !strings.Contains(f.Message, "reservations is missing") {
			t.Errorf("run %s ended with %+v", id, f)
		}
	}
	if n := len(full.Runs()); n != 1 || !full.Maintenance {
		t.Errorf("%d runs, maintenance %v", n, full.Maintenance)
	}
}

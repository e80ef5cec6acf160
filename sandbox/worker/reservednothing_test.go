package worker

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestNextWithoutReservations: R3 surprises authors, so a next that fails for want of data says that it always runs. A
// failure of another kind, or with data, is told as it is.
func TestNextWithoutReservations(t *testing.T) {
	t.Parallel()
	nothing := `{"reservations":[],"data":null}`
	for name, c := range map[string]struct {
		prepared, body string
		explained      bool
	}{
		"reads a member of null": {nothing, "ctx.log(a.data.id)", true},
		"takes null apart":       {nothing, "const { id } = a.data", true},
		"reserved no ids":        {`{"reservations":[{"topic":"t.a","ids":[]}]}`, "ctx.log(a.data.id)", true},
		"throws an error":        {nothing, "throw new Error('x')", false},
		"throws a type error":    {nothing, "throw new TypeError('x')", false},
		"has data":               {`{"reservations":[],"data":{}}`, "ctx.log(a.data.x.y)", false},
		"has reservations": {`{"reservations":[{"topic":"t.a","ids":["1"]}],"data":null}`, "ctx.log(a.data.id)",
			false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := invocationOf(sandbox.Next, c.body)
			call.Prepared, call.MutationResult = json.RawMessage(c.prepared), json.RawMessage(`{"status":"none"}`)
			_, err := newExecutor(t).Invoke(t.Context(), call, world)
			e := wantFault(t, err, sandbox.FaultScript, "script.threw")
			if got := strings.Contains(e.Message, "next always runs"); got != c.explained {
				t.Errorf("explained %v: %s", got, e.Message)
			}
			if e.Line == 0 {
				t.Error("no line")
			}
		})
	}
}

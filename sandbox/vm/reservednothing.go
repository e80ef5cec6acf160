package vm

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/sandbox"
)

// reservedNothing is what a failure of next says when prepare reserved nothing: authors do not expect next to run then.
const reservedNothing = ": prepare reserved nothing in this run, and next always runs: begin it with `if " +
	"(!prepared.data) return;`"

// explainReservedNothing completes what is said of a next that reads a member of data that is not there, in a run
// without reservations.
func explainReservedNothing(e *sandbox.Error, call *sandbox.Invocation) {
	reading := strings.HasPrefix(e.Message, "TypeError: Cannot ") || strings.HasPrefix(e.Message,
		"TypeError: Value is not object")
	if call.Phase != sandbox.Next || e.Code != "script.threw" || !reading {
		return
	}
	var prepared struct {
		Reservations []struct {
			IDs []json.RawMessage `json:"ids"`
		} `json:"reservations"`
		Data any `json:"data"`
	}
	if err := json.Unmarshal(call.Prepared, &prepared); err != nil || prepared.Data != nil {
		return
	}
	for _, r := range prepared.Reservations {
		if len(r.IDs) > 0 {
			return
		}
	}
	e.Message = sandbox.Clip(e.Message+reservedNothing, sandbox.MaxMessage)
}

package vm

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// quickPrepare bounds the time of a prepare after which mutate is called without its caller: it is small beside what
// an executor of processes gives a handler beyond its limits, which it keeps for both together.
const quickPrepare = 50 * time.Millisecond

// thenMutate is the call of mutate with what prepare has returned. It is nil where the caller did not ask for it, where
// prepare reserves nothing, and where the caller has to make it.
func (inv *invocation) thenMutate(prepared json.RawMessage) *sandbox.Invocation {
	call := &inv.call
	if !call.ThenMutate || call.Phase != sandbox.Prepare || call.Source.Counted || !inv.reserves ||
		time.Since(inv.start) > quickPrepare {
		return nil
	}
	then := call.Mutate()
	then.Prepared, then.Now, then.Seed = prepared, inv.now(), inv.random().Uint64()
	return &then
}

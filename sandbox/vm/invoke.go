package vm

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// Invoke runs one handler to its end, and mutate after it where the call asks for it. The error is a
// *[sandbox.Error], which says whose fault it is.
func Invoke(ctx context.Context, around Surroundings, call sandbox.Invocation, transport Transport) (sandbox.Result,
	error) {
	result, then, fault := invoke(ctx, around, call, transport)
	if fault != nil {
		return result, fault
	}
	if then != nil {
		transport.Prepared(result)
		result.Mutate = &sandbox.MutateResult{}
		result.Mutate.Result, _, result.Mutate.Failure = invoke(ctx, around, *then, transport)
	}
	return result, nil
}

// invoke runs one handler in a fresh runtime. It returns the call of mutate that is to follow at once, nil for none.
func invoke(ctx context.Context, around Surroundings, call sandbox.Invocation, transport Transport) (sandbox.Result,
	*sandbox.Invocation, *sandbox.Error) {
	if ctx.Err() != nil {
		return sandbox.Result{}, nil, sandbox.Cancelled(ctx, sandbox.CallCancelled)
	}
	limits := call.Limits.Effective()
	if e := call.TooLarge(limits); e != nil {
		return sandbox.Result{}, nil, e
	}
	sc, problems := around.Scripts.Get(call.Source, limits.Source)
	if sc == nil {
		return sandbox.Result{}, nil, sandbox.FaultOf(problems)
	}
	s := newSession(sc, limits, call.Now, call.Seed, around.CPU)
	s.still = call.Still
	inv := &invocation{session: s, ctx: ctx, call: call, transport: transport}
	defer s.watch(ctx, sandbox.CallCancelled)()
	defer s.watch(around.Closing, "the executor was closed")()

	value, fault := inv.run()
	result := sandbox.Result{Logs: s.log.lines, Reads: inv.reads.made, Counts: s.counts()}
	if result.Call = s.outcome.taken(); result.Call != nil && s.outcome.fault() == nil {
		return result, nil, nil // whatever happened after the call is not the script's any more (R4)
	}
	if fault != nil {
		if inv.entered {
			fault.PlaceAt(sc.HandlerPlace(call.Key()))
			explainReservedNothing(fault, &call)
		}
		return result, nil, call.Where(fault)
	}
	result.Value, result.Publishes, result.Inputs = value, inv.publishes, inv.inputs
	result.Malformed = inv.malformed
	return result, inv.thenMutate(value), nil
}

// run is the life of a call. It is the only place from which script code runs, and nothing that the
// interpreter does leaves it as a panic.
func (inv *invocation) run() (value json.RawMessage, fault *sandbox.Error) {
	inv.clock.run()
	defer func() {
		if inv.reads.cancel != nil {
			inv.reads.cancel()
		}
		if x := recover(); x != nil {
			fault = inv.recovered(x)
		}
		// The end may have come from outside after the last instruction; a value computed under an
		// end is none. If nothing ended it, this does: a timer that fires now finds it over.
		inv.outcome.end(fault, nil)
		if e := inv.outcome.fault(); e != nil {
			fault = e
		}
		inv.clock.stop()
	}()
	promise, err := inv.enter()
	encoded := false
	for err == nil && !inv.outcome.isOver() {
		switch {
		case promise.State() == goja.PromiseStateRejected:
			return nil, inv.thrown(promise.Result(), nil)
		case inv.reads.outstanding() > 0:
			// Also after the handler has returned: what it did not await is still its work, and a
			// failure in it still its failure (R7).
			err = inv.await()
		case promise.State() == goja.PromiseStatePending:
			return nil, sandbox.ScriptFault("script.pending", "%s waits for a promise that nothing will ever resolve",
				inv.title())
		default:
			if e := inv.unhandled(promise); e != nil {
				return nil, e
			}
			if encoded {
				return value, nil
			}
			// Encoding may run script code (getters, toJSON), and that may have started reads.
			if value, fault = inv.returned(promise.Result()); fault != nil {
				return nil, fault
			}
			encoded = true
		}
	}
	if err != nil && inv.outcome.taken() == nil { // after a taken call it only says that the script was stopped
		return nil, inv.faultOf(err)
	}
	return nil, inv.outcome.fault()
}

// enter loads the script and calls the handler; the promise is the handler's end.
func (inv *invocation) enter() (*goja.Promise, error) {
	definition, err := inv.load(inv.global())
	if err != nil {
		return nil, err
	}
	var this goja.Value
	var handler goja.Callable
	if ex := inv.rt.Try(func() { this, handler = inv.find(definition) }); ex != nil {
		return nil, ex
	}
	if handler == nil {
		inv.abort(sandbox.ScriptFault("handler.unknown", "the script defines no %s", inv.title()))
	}
	inv.entered = true
	switch inv.call.Phase {
	case sandbox.Prepare:
		if ex := inv.rt.Try(func() {
			inv.sendsUnasked = !value.Undefined(property(this, "mutate")) &&
				value.Undefined(property(this, sandbox.ApprovalMember))
		}); ex != nil {
			return nil, ex
		}
	case sandbox.Mutate:
		if inv.asks, err = inv.approval(this); err != nil {
			return nil, err
		}
	}
	returned, err := handler(this, inv.arguments()...)
	if err != nil {
		return nil, err
	}
	if value.IsPromise(returned) {
		if p, ok := returned.Export().(*goja.Promise); ok {
			return p, nil
		}
	}
	// Anything else settles as `await` would see it.
	p, resolve, _ := inv.rt.NewPromise()
	return p, resolve(returned)
}

// global is the script's global Pawl in a handler call. Its functions only return their argument.
func (inv *invocation) global() goja.Value {
	global := inv.rt.NewObject()
	identity := inv.native(func(call goja.FunctionCall) goja.Value { return call.Argument(0) })
	for _, name := range []string{"workflow", "consumer", "producer", "hook"} {
		inv.must(global.Set(name, identity))
	}
	return global
}

// find looks the handler up. It runs script code only if the author used getters.
func (inv *invocation) find(definition goja.Value) (this goja.Value, handler goja.Callable) {
	group := "consumers"
	if inv.call.Phase == sandbox.Producer {
		group = "producers"
	}
	owner := property(property(definition, group), inv.call.Handler)
	if inv.call.Phase == sandbox.Producer {
		if f, ok := goja.AssertFunction(owner); ok {
			return property(definition, group), f
		}
		for _, name := range script.ProducerHandlers {
			if f, ok := goja.AssertFunction(property(owner, name)); ok {
				return owner, f
			}
		}
		return nil, nil
	}
	f, ok := goja.AssertFunction(property(owner, string(inv.call.Phase)))
	if !ok {
		return nil, nil
	}
	return owner, f
}

// property is a property of a value that may be no object.
func property(v goja.Value, name string) goja.Value {
	if obj, ok := v.(*goja.Object); ok {
		return obj.Get(name)
	}
	return nil
}

// arguments are what the phase passes: (ctx, state), (ctx, prepared) or (ctx, prepared, result).
func (inv *invocation) arguments() []goja.Value {
	var texts []json.RawMessage
	switch inv.call.Phase {
	case sandbox.Producer, sandbox.Prepare:
		texts = []json.RawMessage{inv.call.State}
	case sandbox.Mutate:
		texts = []json.RawMessage{inv.call.Prepared}
	case sandbox.Next:
		texts = []json.RawMessage{inv.call.Prepared, inv.call.MutationResult}
	default:
		inv.abort(sandbox.InternalFault("unknown phase %q", inv.call.Phase))
	}
	args := make([]goja.Value, 1, 1+len(texts))
	args[0] = inv.rt.NewDynamicObject(&ctxObject{inv: inv})
	for _, text := range texts {
		v := goja.Undefined()
		if text != nil {
			var err error
			if v, err = inv.values.Parse(string(text)); err != nil {
				inv.abort(sandbox.InternalFault("an argument of the handler is not JSON: %s", inv.reason(err)))
			}
		}
		args = append(args, v)
	}
	return args
}

// approval finds out whether the consumer wants a person to approve the call of its mutate. A function is asked before
// mutate runs, with prepared values of its own, and answers at once: anything but true and false ends the call, so that
// nothing leaves by mistake.
func (inv *invocation) approval(consumer goja.Value) (bool, error) {
	const fix = "; write approval: (prepared) => prepared.data.total > 1000"
	v := property(consumer, "approval")
	ask, callable := goja.AssertFunction(v)
	switch {
	case value.Undefined(v):
		return false, nil
	case callable:
	case value.IsText(v) && v.String() == sandbox.ApprovalAsk:
		return true, nil
	default:
		inv.abort(sandbox.ScriptFault("approval.result", `approval of consumer %q must be "ask" or a function, and is %s`,
			inv.call.Handler, value.KindOf(v)))
	}
	answer, err := ask(consumer, inv.arguments()[1:]...)
	if err != nil {
		return false, err
	}
	if value.IsPromise(answer) {
		inv.abort(sandbox.ScriptFault("approval.result",
			"approval of consumer %q returns a promise; it has to answer at once, without async"+fix, inv.call.Handler))
	}
	asked, ok := answer.Export().(bool)
	if !ok {
		inv.abort(sandbox.ScriptFault("approval.result",
			"approval of consumer %q must return true, to ask a person, or false, and returned %s"+fix, inv.call.Handler,
			value.KindOf(answer)))
	}
	return asked, nil
}

// unhandled is the failure of a promise that the handler neither awaited nor handled: work that
// failed unnoticed is not success.
func (inv *invocation) unhandled(handler *goja.Promise) *sandbox.Error {
	for _, p := range inv.rejected {
		if p != handler {
			e := inv.thrown(p.Result(), nil)
			e.Message = sandbox.Clip("a promise that was not awaited failed: "+e.Message, sandbox.MaxMessage)
			return e
		}
	}
	return nil
}

// returned checks and encodes what the handler returned.
func (inv *invocation) returned(v goja.Value) (json.RawMessage, *sandbox.Error) {
	if inv.call.Phase == sandbox.Mutate {
		return nil, nil // the host knows the mutation's result; what the script returns is not used
	}
	raw, err := value.Encode(inv.rt, v)
	if err != nil {
		return nil, inv.returnedAt(0, sandbox.ScriptFault("script.result",
			"what %s returned cannot be written as JSON: %s", inv.title(), inv.reason(err)))
	}
	limit, code, what := inv.limits.State, "limit.state", "the returned state"
	if inv.call.Phase == sandbox.Prepare {
		limit, code, what = inv.limits.Result, "limit.result", "the returned value"
	}
	if len(raw) > limit {
		return nil, inv.returnedAt(limit, sandbox.LimitFault(code, "%s has %d bytes; the limit is %d", what, len(raw),
			limit))
	}
	if inv.call.Phase == sandbox.Prepare {
		inv.notePrepared(raw)
		if e := inv.misplacedApproval(raw); e != nil {
			return nil, inv.returnedAt(0, e)
		}
	}
	return raw, nil
}

// misplacedApproval is the fault of a prepare that returns approval: "ask" although its consumer has no approval. Only
// the consumer's own member asks a person, so the call would leave without a question. Most results do not contain the
// word, and are not parsed for it.
func (inv *invocation) misplacedApproval(raw json.RawMessage) *sandbox.Error {
	if !inv.sendsUnasked || !inv.reserves || !bytes.Contains(raw, []byte(`"`+sandbox.ApprovalMember+`"`)) {
		return nil
	}
	result, ok := value.Members(raw)
	if !ok || string(result.Member(sandbox.ApprovalMember)) != `"`+sandbox.ApprovalAsk+`"` {
		return nil
	}
	return sandbox.ScriptFault("shape.unknownKey", `approval: "ask" in what %s returned has no effect, and the call `+
		`would be sent without asking a person; write approval: "ask" beside prepare, as a member of the consumer`,
		inv.title())
}

// notePrepared keeps whether prepare reserves events, and where it returned what cannot be read: the host refuses that
// (R19), and knows no lines.
func (inv *invocation) notePrepared(raw json.RawMessage) {
	if reserves, sure := value.Reserves(raw); sure {
		inv.reserves = reserves
		return
	}
	var result struct {
		Reservations []struct {
			Topic string   `json:"topic"`
			IDs   []string `json:"ids"`
		} `json:"reservations"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || result.Reservations == nil {
		inv.malformed = inv.script.MalformedPlace(inv.call.Key(), err == nil)
		return
	}
	for _, r := range result.Reservations {
		inv.reserves = inv.reserves || len(r.IDs) > 0
	}
}

// returnedAt gives the fault of a returned value the place of its return.
func (inv *invocation) returnedAt(limit int, e *sandbox.Error) *sandbox.Error {
	at := inv.script.ReturnPlace(inv.call.Key(), limit)
	e.Line, e.Column = at.Line, at.Column
	return e
}

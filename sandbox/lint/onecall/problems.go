package onecall

import (
	"fmt"

	"github.com/pawl-run/pawl/sandbox"
)

// Joined is the range over both; an empty one adds nothing.
func Joined(r, o sandbox.CallRange) sandbox.CallRange {
	switch {
	case r.From == r.To:
		return o
	case o.From == o.To:
		return r
	}
	return sandbox.CallRange{From: min(r.From, o.From), To: max(r.To, o.To)}
}

func nameOf(m *sandbox.MutateCall) string {
	return "ctx." + sandbox.Clip(m.Connector, 100) + "." + sandbox.Clip(m.Operation, 100)
}

// The codes of Problems.
const (
	codeCodeAfter  = "mutate.codeAfter"
	codeSecondCall = "mutate.secondCall"
	codeLoop       = "mutate.loop"
)

// IsProblem reports whether a problem is one that Problems finds.
func IsProblem(p sandbox.Problem) bool {
	return p.Code == codeCodeAfter || p.Code == codeSecondCall || p.Code == codeLoop
}

// Problems warns of what a mutate cannot do: the host takes over at its mutation call, so no code
// behind it runs and no second call is sent (R4). kind says what an operation is, nothing for one that
// is not known. Describe knows no kinds; a caller that knows them asks again and drops the first answer. One that is
// not known is taken for a mutation, or where reads by id are declared only the last call of the text.
func Problems(d *sandbox.Definition,
	kind func(connector, operation string) sandbox.OperationKind) []sandbox.Problem {
	j := judgement{calls: d.MutateCalls, next: make([]int, len(d.MutateCalls)+1), said: make(map[sandbox.Problem]bool),
		reached: make(map[int]bool)}
	j.next[len(j.calls)] = len(j.calls)
	for i := len(j.calls) - 1; i >= 0; i-- {
		call := &j.calls[i]
		last := i+1 == len(j.calls) || j.calls[i+1].Handler != call.Handler
		k := kind(call.Connector, call.Operation)
		known := k == sandbox.KindList || k == sandbox.KindGet || k == sandbox.KindMutate
		j.next[i] = j.next[i+1]
		if k == sandbox.KindMutate || !known && (!call.MutateReadsByID || last) {
			j.next[i] = i
		}
	}
	never := 0 // calls before this one are said to be never sent
	for i := range j.calls {
		if j.next[i] != i || i < never {
			continue
		}
		call := &j.calls[i]
		parallel, later := j.second(call.Parallel), j.second(call.Later)
		if parallel > 0 {
			never = max(never, call.Parallel.To)
		}
		if parallel == 0 && later == 0 {
			j.perhaps(call)
		}
		switch {
		case later > 0:
			never = max(never, call.Later.To)
		case call.After != (sandbox.Place{}):
			j.tooLate(call, call.After)
		}
		if call.Finally != (sandbox.Place{}) {
			j.tooLate(call, call.Finally)
		}
		if call.Loop != "" {
			j.warn(codeLoop, call.Place, "make one call per run: reserve one event in prepare (the consumer runs "+
				"again for the next one), or use an operation that takes all items at once",
				"mutate of %q ends at its first mutation call: %s in %s is sent once, for the first item", call.Handler,
				nameOf(call), call.Loop)
		}
	}
	return j.problems
}

// judgement holds the calls of a definition and what is known of their kinds.
type judgement struct {
	calls []sandbox.MutateCall
	// next is the first mutation from each call on.
	next     []int
	problems []sandbox.Problem
	said     map[sandbox.Problem]bool
	// reached are the calls, by index, of which perhaps has warned.
	reached map[int]bool
}

// second reports the first mutation of a range and answers its index, 0 for none: nothing comes before the
// first call.
func (j *judgement) second(r sandbox.CallRange) int {
	// What comes from a worker process may be any number.
	i := j.next[min(max(r.From, 0), len(j.calls))]
	if i >= min(r.To, len(j.calls)) {
		return 0
	}
	call := &j.calls[i]
	j.warn(codeSecondCall, call.Place, "make one call per run: publish an event for it in next, and call "+nameOf(call)+
		" in mutate of a consumer that subscribes to that event",
		"mutate of %q ends at its first mutation call: %s after it is never sent", call.Handler, nameOf(call))
	return i
}

// perhaps warns of the first mutation of what the text goes on to behind a call.
func (j *judgement) perhaps(call *sandbox.MutateCall) {
	i := j.next[min(max(call.Perhaps.From, 0), len(j.calls))]
	if i >= min(call.Perhaps.To, len(j.calls)) || j.reached[i] {
		return
	}
	j.reached[i] = true
	second := &j.calls[i]
	j.warn(codeSecondCall, second.Place, "if one of the two is meant, say so: else if, or break at the end of the case; "+
		"if both are, publish an event for "+nameOf(second)+" in next, and call it in mutate of a consumer that subscribes "+
		"to it",
		"mutate of %q ends at its first mutation call: where %s (line %d) is made, %s after it is never sent", call.Handler,
		nameOf(call), call.Place.Line, nameOf(second))
}

func (j *judgement) tooLate(call *sandbox.MutateCall, at sandbox.Place) {
	j.warn(codeCodeAfter, at, "move it to next, which gets the outcome as its third argument: async next(ctx, "+
		"prepared, mutationResult) with mutationResult.status and mutationResult.result",
		"mutate of %q ends at its mutation call: this code after it never runs", call.Handler)
}

func (j *judgement) warn(code string, at sandbox.Place, fix, format string, args ...any) {
	p := sandbox.NewWarning(code, at, sandbox.Clip(fmt.Sprintf(format, args...), sandbox.MaxMessage),
		sandbox.Clip(fix, sandbox.MaxMessage))
	if !j.said[p] {
		j.said[p] = true
		j.problems = append(j.problems, p)
	}
}

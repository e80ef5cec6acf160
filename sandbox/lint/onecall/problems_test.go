package onecall

import (
	"math"
	"testing"

	"github.com/pawl-run/pawl/sandbox"
)

// TestProblemsOfAnyNumbers: the calls may come from a worker that answers what no script can make
// it answer; they are judged as far as they make sense.
func TestProblemsOfAnyNumbers(t *testing.T) {
	t.Parallel()
	mutates := func(string, string) sandbox.OperationKind { return sandbox.KindMutate }
	for _, numbers := range []sandbox.CallRange{{From: -5, To: 9}, {From: math.MinInt, To: math.MaxInt},
		{From: 9, To: -5}, {From: 7, To: 9}, {From: 1, To: math.MaxInt}, {From: math.MaxInt, To: math.MaxInt}} {
		d := sandbox.Definition{MutateCalls: []sandbox.MutateCall{
			{Handler: "h", Connector: "a", Operation: "b", Place: sandbox.Place{Line: 1, Column: 1}, Parallel: numbers,
				Later: numbers},
			{Handler: "h", Connector: "a", Operation: "c", Place: sandbox.Place{Line: 2, Column: 1}, Loop: "this loop"},
		}}
		for _, p := range Problems(&d, mutates) {
			if p.Line < 1 || p.Line > 2 || p.Code != codeSecondCall && p.Code != codeLoop || !IsProblem(p) {
				t.Errorf("%v: %+v", numbers, p)
			}
		}
	}
	if problems := Problems(&sandbox.Definition{}, mutates); problems != nil {
		t.Errorf("%+v", problems)
	}
}

// TestProblemsKnowKinds: a read is no mutation call, and of unknown operations the last
// one is where reads by id are declared.
func TestProblemsKnowKinds(t *testing.T) {
	t.Parallel()
	calls := func(byID bool) *sandbox.Definition {
		d := sandbox.Definition{}
		for i, operation := range []string{"one", "two", "three"} {
			d.MutateCalls = append(d.MutateCalls, sandbox.MutateCall{Handler: "h", Connector: "a", Operation: operation,
				Place: sandbox.Place{Line: i + 1, Column: 1}, MutateReadsByID: byID, After: sandbox.Place{Line: i + 2,
					Column: 1}})
			if i < 2 {
				d.MutateCalls[i].Later = sandbox.CallRange{From: i + 1, To: 3}
			}
		}
		return &d
	}
	for name, c := range map[string]struct {
		byID  bool
		kinds map[string]sandbox.OperationKind
		want  string
	}{
		"unknown":        {false, nil, "mutate.secondCall 2"},
		"unknown, by id": {true, nil, "mutate.codeAfter 4"},
		"all read": {false, map[string]sandbox.OperationKind{"one": sandbox.KindList, "two": sandbox.KindGet,
			"three": sandbox.KindGet}, ""},
		"the first mutates": {true, map[string]sandbox.OperationKind{"one": sandbox.KindMutate, "two": sandbox.KindGet,
			"three": sandbox.KindGet}, "mutate.codeAfter 2"},
		"two mutate": {true, map[string]sandbox.OperationKind{"one": sandbox.KindMutate, "two": sandbox.KindGet,
			"three": sandbox.KindMutate}, "mutate.secondCall 3"},
		"the last mutates": {false, map[string]sandbox.OperationKind{"one": sandbox.KindList, "two": sandbox.KindList,
			"three": sandbox.KindMutate}, "mutate.codeAfter 4"},
		"one is unknown": {false, map[string]sandbox.OperationKind{"one": sandbox.KindGet, "three": sandbox.KindGet},
			"mutate.codeAfter 3"},
	} {
		var got string
		for _, p := range Problems(calls(c.byID), func(_, operation string) sandbox.OperationKind {
			return c.kinds[operation]
		}) {
			got += p.Code + " " + string(rune('0'+p.Line))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

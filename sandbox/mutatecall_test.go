package sandbox

import (
	"math"
	"testing"
)

// TestMutateProblemsOfAnyNumbers: the calls may come from a worker that answers what no script can make
// it answer; they are judged as far as they make sense.
func TestMutateProblemsOfAnyNumbers(t *testing.T) {
	t.Parallel()
	mutates := func(string, string) OperationKind { return KindMutate }
	for _, numbers := range []CallRange{{-5, 9}, {math.MinInt, math.MaxInt}, {9, -5}, {7, 9}, {1, math.MaxInt}, {math.MaxInt, math.MaxInt}} {
		d := Definition{MutateCalls: []MutateCall{
			{Handler: "h", Connector: "a", Operation: "b", Place: Place{1, 1}, Beside: numbers, Later: numbers},
			{Handler: "h", Connector: "a", Operation: "c", Place: Place{2, 1}, Loop: "this loop"},
		}}
		for _, p := range MutateProblems(&d, mutates) {
			if p.Line < 1 || p.Line > 2 || p.Code != codeSecondCall && p.Code != codeLoop || !IsMutateProblem(p) {
				t.Errorf("%v: %+v", numbers, p)
			}
		}
	}
	if problems := MutateProblems(&Definition{}, mutates); problems != nil {
		t.Errorf("%+v", problems)
	}
}

// TestMutateProblemsKnowKinds: a read is no mutation call, and of operations that nobody knows the last
// one is where reads by id are declared.
func TestMutateProblemsKnowKinds(t *testing.T) {
	t.Parallel()
	calls := func(byID bool) *Definition {
		d := Definition{}
		for i, operation := range []string{"one", "two", "three"} {
			d.MutateCalls = append(d.MutateCalls, MutateCall{Handler: "h", Connector: "a", Operation: operation, Place: Place{i + 1, 1}, ReadsByID: byID, After: Place{i + 2, 1}})
			if i < 2 {
				d.MutateCalls[i].Later = CallRange{i + 1, 3}
			}
		}
		return &d
	}
	for name, c := range map[string]struct {
		byID  bool
		kinds map[string]OperationKind
		want  string
	}{
		"unknown":           {false, nil, "mutate.secondCall 2"},
		"unknown, by id":    {true, nil, "mutate.codeAfter 4"},
		"all read":          {false, map[string]OperationKind{"one": KindList, "two": KindGet, "three": KindGet}, ""},
		"the first mutates": {true, map[string]OperationKind{"one": KindMutate, "two": KindGet, "three": KindGet}, "mutate.codeAfter 2"},
		"two mutate":        {true, map[string]OperationKind{"one": KindMutate, "two": KindGet, "three": KindMutate}, "mutate.secondCall 3"},
		"the last mutates":  {false, map[string]OperationKind{"one": KindList, "two": KindList, "three": KindMutate}, "mutate.codeAfter 4"},
		"one is unknown":    {false, map[string]OperationKind{"one": KindGet, "three": KindGet}, "mutate.codeAfter 3"},
	} {
		var got string
		for _, p := range MutateProblems(calls(c.byID), func(_, operation string) OperationKind { return c.kinds[operation] }) {
			got += p.Code + " " + string(rune('0'+p.Line))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

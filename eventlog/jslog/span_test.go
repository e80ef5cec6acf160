package jslog

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// TestSpans compares the span arithmetic with sets of numbers.
func TestSpans(t *testing.T) {
	for range 2000 {
		a, b := randomSet(), randomSet()
		want := map[uint64]bool{}
		var inA, inB []uint64
		for n := range uint64(20) {
			if a[n] {
				inA = append(inA, n)
			}
			if b[n] {
				inB = append(inB, n)
			}
			if a[n] && !b[n] {
				want[n] = true
			}
		}
		sa, sb := runs(inA), runs(inB)
		if got := set(sa.without(sb)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s without %s is %v", sa, sb, got)
		}
		union := sa
		for _, s := range sb {
			union = union.with(s)
		}
		for n := range uint64(20) {
			if set(union)[n] != (a[n] || b[n]) {
				t.Fatalf("%s with %s is %s", sa, sb, union)
			}
		}
		if uint64(len(set(union))) != union.count() {
			t.Fatalf("%s counts %d", union, union.count())
		}
		again, err := parseSpans(union.String())
		if err != nil || !reflect.DeepEqual(again, union) && len(union) > 0 {
			t.Fatalf("%s was read as %s, %v", union, again, err)
		}
	}
	for _, bad := range []string{"a", "1-", "-1", "5-3", "1,,2", "1-2-3"} {
		if s, err := parseSpans(bad); err == nil {
			t.Errorf("%q was read as %s", bad, s)
		}
	}
}

func randomSet() map[uint64]bool {
	s := map[uint64]bool{}
	for n := range uint64(20) {
		if rand.IntN(2) == 0 {
			s[n] = true
		}
	}
	return s
}

func set(s spans) map[uint64]bool {
	m := map[uint64]bool{}
	for _, one := range s {
		for n := one.from; n <= one.to; n++ {
			m[n] = true
		}
	}
	return m
}

// TestSpansWithin: what takes too much room is joined where the gaps are smallest; everything stays in, and the
// last span is left alone.
func TestSpansWithin(t *testing.T) {
	var many spans
	for i := range uint64(20_000) {
		many = append(many, span{100 * i, 100*i + (i+1)%3})
	}
	before := slices.Clone(many)
	few := many.within(maxLost)
	if !slices.Equal(many, before) {
		t.Error("the spans that were given are changed")
	}
	if len(few.String()) > maxLost || len(few) < 2 || few[len(few)-1] != many[len(many)-1] || many.without(few) != nil {
		t.Errorf("%d spans in %d bytes, the last %v; left out: %v", len(few), len(few.String()), few[len(few)-1],
			many.without(few))
	}
	if same := many[:10].within(maxLost); !slices.Equal(same, many[:10]) {
		t.Errorf("what fits is changed: %v", same)
	}
}

package projections

import (
	"cmp"
	"iter"

	"github.com/tidwall/btree"
)

// table is a persistent map: after fork, writes to one copy are invisible to the other, and
// cost only the nodes on the way to what they touch.
type table[K cmp.Ordered, V any] struct {
	m     *btree.Map[K, V]
	owned bool
}

// degree keeps nodes small: each transition copies those on the way to what it changes.
const degree = 8

// fork gives up ownership, so that the next write copies. Both copies may be read concurrently;
// writes to copies of one origin must not overlap in time.
func (t *table[K, V]) fork() { t.owned = false }

func (t *table[K, V]) own() {
	switch {
	case t.m == nil:
		t.m = btree.NewMap[K, V](degree)
	case !t.owned:
		t.m = t.m.Copy()
	}
	t.owned = true
}

func (t *table[K, V]) put(k K, v V) {
	t.own()
	t.m.Set(k, v)
}

func (t *table[K, V]) drop(k K) {
	if _, ok := t.get(k); !ok {
		return
	}
	t.own()
	t.m.Delete(k)
}

func (t *table[K, V]) get(k K) (V, bool) {
	if t.m == nil {
		var none V
		return none, false
	}
	return t.m.Get(k)
}

// has looks at memory alone. The fold uses it for the new id of what a fact makes: to ask for that would cost a read
// for each.
func (t *table[K, V]) has(k K) bool {
	_, ok := t.get(k)
	return ok
}

func (t *table[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if t.m != nil {
			t.m.Scan(yield)
		}
	}
}

// from yields in order, starting at the first key not below pivot.
func (t *table[K, V]) from(pivot K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if t.m != nil {
			t.m.Ascend(pivot, yield)
		}
	}
}

func (t *table[K, V]) size() int {
	if t.m == nil {
		return 0
	}
	return t.m.Len()
}

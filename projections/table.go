package projections

import (
	"cmp"
	"iter"
	"slices"

	"github.com/tidwall/btree"
)

// table is a persistent map: after fork, writes to one copy are invisible to the other, and
// cost only the nodes on the way to what they touch.
type table[K cmp.Ordered, V any] struct {
	m     *btree.Map[K, V]
	owned bool
}

// degree keeps nodes small, also those of queues: each transition copies those on the way to what it changes.
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

// recent is a table whose last changes stand in a short list before it. What changes in a workflow is mostly what has
// just changed: a change then costs a copy of the list, and no nodes of the table.
type recent[K cmp.Ordered, V any] struct {
	old table[K, V]
	// young is by key. An entry counts, not that of old with the same key.
	young []entry[K, V]
	owned bool
}

type entry[K cmp.Ordered, V any] struct {
	key   K
	value V
}

// maxYoung is how long the list may become. Then it moves into the table.
const maxYoung = 16

func (r *recent[K, V]) fork() {
	r.old.fork()
	r.owned = false
}

// own copies the list for this copy to write to, with room for so many more.
func (r *recent[K, V]) own(more int) {
	if !r.owned {
		r.young, r.owned = append(make([]entry[K, V], 0, len(r.young)+more), r.young...), true
	}
}

// find returns where the key stands in the list, or would stand. It looks at the last key first: most keys rise with
// time, and most lookups are for the newest key or for a new one.
func (r *recent[K, V]) find(k K) (int, bool) {
	last := len(r.young) - 1
	if last >= 0 {
		switch c := cmp.Compare(k, r.young[last].key); {
		case c > 0:
			return last + 1, false
		case c == 0:
			return last, true
		}
	}
	low, high := 0, max(last, 0)
	for low < high {
		if mid := (low + high) / 2; r.young[mid].key < k {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < len(r.young) && r.young[low].key == k
}

func (r *recent[K, V]) put(k K, v V) {
	i, known := r.find(k)
	if !known && len(r.young) >= maxYoung {
		for _, e := range r.young {
			r.old.put(e.key, e.value)
		}
		r.young, r.owned, i = nil, false, 0
	}
	r.own(2)
	if known {
		r.young[i].value = v
	} else {
		r.young = slices.Insert(r.young, i, entry[K, V]{k, v})
	}
}

func (r *recent[K, V]) drop(k K) {
	r.old.drop(k)
	if i, known := r.find(k); known {
		r.own(0)
		r.young = slices.Delete(r.young, i, i+1)
	}
}

func (r *recent[K, V]) get(k K) (V, bool) {
	if i, known := r.find(k); known {
		return r.young[i].value, true
	}
	return r.old.get(k)
}

// has looks at memory alone. The fold uses it for the new id of what a fact makes: to ask for that would cost a read
// for each.
func (r *recent[K, V]) has(k K) bool {
	_, ok := r.get(k)
	return ok
}

func (r *recent[K, V]) all() iter.Seq2[K, V] {
	var first K // every key is a text or a number without a sign: none stands before it
	return r.from(first)
}

// from yields in order, starting at the first key not below pivot.
func (r *recent[K, V]) from(pivot K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		i, _ := r.find(pivot)
		for k, v := range r.old.from(pivot) {
			for ; i < len(r.young) && r.young[i].key < k; i++ {
				if !yield(r.young[i].key, r.young[i].value) {
					return
				}
			}
			if i < len(r.young) && r.young[i].key == k {
				v = r.young[i].value
				i++
			}
			if !yield(k, v) {
				return
			}
		}
		for ; i < len(r.young); i++ {
			if !yield(r.young[i].key, r.young[i].value) {
				return
			}
		}
	}
}

package projections

import (
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// A table of recent changes holds what a map would, in the order of its keys, and no write to one copy is seen in
// another.
func TestRecentTableIsAPersistentMap(t *testing.T) {
	t.Parallel()
	type version struct {
		table recent[uint64, int]
		want  map[uint64]int
	}
	r := rand.New(rand.NewPCG(1, 1))
	versions := []version{{want: map[uint64]int{}}}
	moved := false
	for n := range 300 {
		v := versions[max(0, len(versions)-1-r.IntN(3))]
		v.want = maps.Clone(v.want)
		v.table.fork()
		for range r.IntN(6) {
			if k := r.Uint64N(60); r.IntN(3) > 0 {
				v.table.put(k, n)
				v.want[k] = n
			} else {
				v.table.drop(k)
				delete(v.want, k)
			}
		}
		moved = moved || v.table.old.size() > 0 && len(v.table.young) > 0
		versions = append(versions, v)
	}
	if !moved {
		t.Fatal("no list has moved into its table")
	}
	for n, v := range versions {
		keys := slices.Sorted(maps.Keys(v.want))
		if got := keysOf(v.table.all()); !slices.Equal(got, keys) {
			t.Fatalf("version %d has %v, want %v", n, got, keys)
		}
		for pivot := range uint64(60) {
			at, known := slices.BinarySearch(keys, pivot)
			if got := keysOf(v.table.from(pivot)); !slices.Equal(got, keys[at:]) {
				t.Fatalf("version %d has %v from %d on, want %v", n, got, pivot, keys[at:])
			}
			if got, ok := v.table.get(pivot); ok != known || got != v.want[pivot] || v.table.has(pivot) != known {
				t.Fatalf("version %d has %d, %v for %d, want %d, %v", n, got, ok, pivot, v.want[pivot], known)
			}
		}
		for k, got := range v.table.all() {
			if got != v.want[k] {
				t.Fatalf("version %d yields %d for %d, want %d", n, got, k, v.want[k])
			}
		}
	}
}

func keysOf(table iter.Seq2[uint64, int]) (keys []uint64) {
	for k := range table {
		keys = append(keys, k)
	}
	return keys
}

package similar

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// longest bounds what is compared, in bytes: the cost grows with the product of two lengths.
const longest = 200

// Names gives up to most of the candidates that are close to a name, nearest first. A name may differ
// in a quarter of its letters, at least in two but in less than half; capitals do not count.
func Names(name string, candidates []string, most int) []string {
	if len(name) > longest {
		return nil
	}
	found := make(map[string]int)
	for _, candidate := range candidates {
		if d := Distance(name, candidate); d <= Tolerance(name) && 2*d < max(len(name), len(candidate)) {
			found[candidate] = d
		}
	}
	return Nearest(found, most)
}

// Nearest gives up to most of the names, by distance and then by name.
func Nearest(distances map[string]int, most int) []string {
	names := slices.SortedFunc(maps.Keys(distances), func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
	return names[:min(len(names), most)]
}

// Tolerance is in how many letters another name may differ to be close to this one.
func Tolerance(name string) int { return max(2, len(name)/4) }

// Distance counts the insertions, deletions and replacements (Levenshtein) that turn a into b,
// capitals aside. Names too long to compare are far apart.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

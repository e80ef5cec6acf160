package similar

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
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

// Meant is the candidate that a name most likely stands for: the nearest one, else the one of ByPart. It is empty for
// none.
func Meant(name string, candidates []string) string {
	if near := Names(name, candidates, 1); len(near) > 0 {
		return near[0]
	}
	return ByPart(name, candidates)
}

// ByPart is the only candidate that begins or ends with the name, or the name with it, as fileName and name. It is
// empty for none, and for several.
func ByPart(name string, candidates []string) string {
	if len(name) < 2 || len(name) > longest {
		return ""
	}
	found := ""
	for _, candidate := range candidates {
		low, other := strings.ToLower(name), strings.ToLower(candidate)
		switch {
		case candidate == found, len(candidate) < 2, len(candidate) > longest:
		case !strings.HasSuffix(low, other) && !strings.HasSuffix(other, low) && !strings.HasPrefix(low, other) &&
			!strings.HasPrefix(other, low):
		case found != "":
			return ""
		default:
			found = candidate
		}
	}
	return found
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

// Distance counts the letters to insert, to delete and to replace that turn a into b, capitals aside.
// Names too long to compare are far apart.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	return levenshtein.ComputeDistance(strings.ToLower(a), strings.ToLower(b))
}

package difference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// Difference is one part in which two values differ.
type Difference struct {
	// Path leads to the part: `values.total`, `items[2].id`; empty for the values themselves.
	Path string `json:"path"`
	// Before and After are the part in both values, nil where it is not there.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Of lists how after differs from before; none for equal values. It fails for what is no JSON.
func Of(before, after json.RawMessage) ([]Difference, error) { return differ(before, after, true) }

// Beyond lists how after differs from before where members that before does not name do not count.
func Beyond(before, after json.RawMessage) ([]Difference, error) { return differ(before, after, false) }

func differ(before, after json.RawMessage, added bool) ([]Difference, error) {
	a, err := read(before)
	if err != nil {
		return nil, err
	}
	b, err := read(after)
	if err != nil {
		return nil, err
	}
	return compare(nil, "", a, b, added), nil
}

func read(raw json.RawMessage) (v any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return nil, fmt.Errorf("read JSON to compare it: %w", err)
	}
	return v, nil
}

// compare adds the differences of two values; with whole, members that only b has are some too.
func compare(found []Difference, path string, a, b any, whole bool) []Difference {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := slices.Collect(maps.Keys(a))
		for name := range b {
			if _, both := a[name]; !both && whole {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			x, inA := a[name]
			y, inB := b[name]
			switch at := member(path, name); {
			case !inA:
				found = append(found, Difference{Path: at, After: text(y)})
			case !inB:
				found = append(found, Difference{Path: at, Before: text(x)})
			default:
				found = compare(found, at, x, y, whole)
			}
		}
		return found
	case []any:
		b, ok := b.([]any)
		if !ok {
			break
		}
		for i := range max(len(a), len(b)) {
			switch at := fmt.Sprintf("%s[%d]", path, i); {
			case i >= len(a):
				found = append(found, Difference{Path: at, After: text(b[i])})
			case i >= len(b):
				found = append(found, Difference{Path: at, Before: text(a[i])})
			default:
				found = compare(found, at, a[i], b[i], whole)
			}
		}
		return found
	case json.Number:
		if b, ok := b.(json.Number); ok && sameNumber(a, b) {
			return found
		}
	default:
		if a == b { // texts, flags and null
			return found
		}
	}
	return append(found, Difference{Path: path, Before: text(a), After: text(b)})
}

// sameNumber compares by value, exactly where the numbers are written without an exponent.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, y := new(big.Rat), new(big.Rat)
	if plainNumber.MatchString(a.String()) && plainNumber.MatchString(b.String()) {
		_, okX := x.SetString(a.String())
		_, okY := y.SetString(b.String())
		return okX && okY && x.Cmp(y) == 0
	}
	f, errF := a.Float64()
	g, errG := b.Float64()
	return errF == nil && errG == nil && f == g
}

// plainNumber is a number that takes no more memory than its text.
var plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// plainName is a name that needs no quotes in a path.
var plainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\p{L}_$][\p{L}\p{N}_$-]*$`)
})

func member(path, name string) string {
	switch {
	case !plainName().MatchString(name):
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

func text(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // it was read from JSON
		panic(fmt.Sprintf("write JSON that was read: %v", err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

package intl

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed locales.json
var localesText []byte

// Default is the locale that is taken where none is named.
const Default = "en-US"

// Locale is what is known about one locale. generate.mjs says how patterns and keys are written.
type Locale struct {
	// Name is the tag as it was asked for, which may be the language alone.
	Name string

	localeData
}

type localeData struct {
	Name string `json:"name"`

	Months, Weekdays [][]string
	Periods          []string
	// Hours are the clocks by default, for hour12: true and for hour12: false.
	Hours                  map[string]string
	Dates, Times, Both     map[string]string
	DateStyles, TimeStyles map[string]string
	FieldJoins, StyleJoins []string
	Zones, Offsets         []string
	Fraction               string

	Decimal, Group, Minus, Plus, Infinity, NaN string
	// Grouped is the least number of digits that are grouped.
	Grouped              int
	Percent, PercentSign string
	Money                struct{ Decimal, Group, Plain, Minus, Letters, LettersMinus string }
	// Currencies are the symbol and the narrow symbol where they are not the code.
	Currencies map[string][]string
}

type knowledge struct {
	// Currencies are all that are known, and their number of decimals.
	Currencies map[string]int
	Names      []string
	// Locales are in the order of Names, each read at its first use.
	Locales []json.RawMessage

	read []func() localeData
}

var known = sync.OnceValue(func() knowledge {
	var k knowledge
	mustRead(localesText, &k)
	for _, text := range k.Locales {
		k.read = append(k.read, sync.OnceValue(func() localeData {
			var l localeData
			mustRead(text, &l)
			return l
		}))
	}
	return k
})

// mustRead reads what is embedded; if it cannot be read, the binary itself is broken.
func mustRead(text []byte, into any) {
	if err := json.Unmarshal(text, into); err != nil {
		panic(fmt.Sprintf("read the embedded locales.json: %v", err))
	}
}

// Supported are the names of all locales.
func Supported() []string { return slices.Clone(known().Names) }

// Lookup finds a locale by its tag, such as "de-DE", or by its language alone, which stands for the
// first locale of that language in the order of Supported.
func Lookup(tag string) (*Locale, error) {
	if !wellFormed(tag) {
		return nil, rangeErrorf("%q is not the tag of a locale; write it as in %q", clip(tag), Default)
	}
	find := func(matches func(name string) bool) *Locale {
		i := slices.IndexFunc(known().Names, matches)
		if i < 0 {
			return nil
		}
		data := known().read[i]()
		return &Locale{Name: data.Name, localeData: data}
	}
	if l := find(func(name string) bool { return strings.EqualFold(name, tag) }); l != nil {
		return l, nil
	}
	if l := find(func(name string) bool {
		language, _, _ := strings.Cut(name, "-")
		return strings.EqualFold(language, tag)
	}); l != nil {
		l.Name = strings.ToLower(tag)
		return l, nil
	}
	return nil, rangeErrorf("the locale %q is not supported here; use one of %s, or put the text together yourself",
		clip(tag), strings.Join(Supported(), ", "))
}

// wellFormed tells tags from other texts: letters and digits in groups of up to eight, joined by -, of
// which the first is a language.
func wellFormed(tag string) bool {
	for i, part := range strings.Split(tag, "-") {
		if len(part) == 0 || len(part) > 8 || i == 0 && (len(part) < 2 || strings.ContainsAny(part, "0123456789")) {
			return false
		}
		for _, r := range part {
			if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
				return false
			}
		}
	}
	return true
}

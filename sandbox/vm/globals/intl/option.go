package intl

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Options are the options of a format by their names, as the texts that the script gave. What is not
// in the map was not given.
type Options map[string]string

// Error is a refusal. It becomes an error of the kind that the language has for it.
type Error struct {
	// Type reports that it is a TypeError; any other is a RangeError.
	Type    bool
	Message string
}

func (e *Error) Error() string { return e.Message }

func rangeErrorf(format string, args ...any) error {
	return &Error{Message: "Intl: " + fmt.Sprintf(format, args...)}
}

func typeErrorf(format string, args ...any) error {
	return &Error{Type: true, Message: "Intl: " + fmt.Sprintf(format, args...)}
}

// clip shortens a text of a script for a message.
func clip(s string) string {
	if len(s) <= 40 {
		return s
	}
	return strings.ToValidUTF8(s[:40], "") + "…"
}

// choose reads an option that has a few values; the first is the default.
func (o Options) choose(name string, values ...string) (string, error) {
	v, ok := o[name]
	if !ok {
		return values[0], nil
	}
	if !slices.Contains(values, v) {
		return "", rangeErrorf("%s: %q is not supported here; use %s", name, clip(v), quoted(values))
	}
	return v, nil
}

func quoted(values []string) string {
	var b strings.Builder
	for i, v := range slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" }) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(v))
	}
	return b.String()
}

// number reads an option that is a whole number.
func (o Options) number(name string, least, most, fallback int) (int, error) {
	v, ok := o[name]
	if !ok {
		return fallback, nil
	}
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || !(x >= float64(least) && x <= float64(most)) {
		return 0, rangeErrorf("%s is %s; it must be between %d and %d", name, clip(v), least, most)
	}
	return int(x), nil
}

// only refuses options that are known neither to the caller nor to be harmless.
func (o Options) only(harmless map[string]string, names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains(names, name) {
			continue
		}
		if value, ok := harmless[name]; ok && (value == "" || value == o[name]) {
			continue
		}
		if value := harmless[name]; value != "" {
			return rangeErrorf("%s: %q is not supported here; only %q is", name, clip(o[name]), value)
		}
		return rangeErrorf("the option %s is not supported here; those that are: %s", name, strings.Join(names, ", "))
	}
	return nil
}

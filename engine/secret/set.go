package secret

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// Secret is a configured secret. It has several values while one is being replaced: what is received may be made with
// any of them, what is sent is made with the first. The values stand behind functions: code that prints a structure
// with a secret deep inside prints addresses.
type Secret struct{ values, hosts func() []string }

// Of makes a secret of its values, which may be sent to the hosts. The error says what is wrong, without a value.
func Of(values, hosts []string) (Secret, error) {
	if len(values) == 0 {
		return Secret{}, fmt.Errorf("it has no value")
	}
	for i, value := range values {
		switch {
		case value == "":
			return Secret{}, fmt.Errorf("value %d is empty", i+1)
		case strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r == 0x7f }):
			return Secret{}, fmt.Errorf("value %d has a control character, such as a line break", i+1)
		}
	}
	values, hosts = slices.Clone(values), slices.Clone(hosts)
	return Secret{func() []string { return slices.Clone(values) }, func() []string { return slices.Clone(hosts) }}, nil
}

// Values are all of them, the newest first.
func (s Secret) Values() []string {
	if s.values == nil {
		return nil
	}
	return s.values()
}

// Hosts are those that it may be sent to.
func (s Secret) Hosts() []string {
	if s.hosts == nil {
		return nil
	}
	return s.hosts()
}

// hidden stands for a value wherever one would be printed.
const hidden = "[secret]"

// String shows no value.
func (Secret) String() string { return hidden }

// GoString shows no value.
func (Secret) GoString() string { return hidden }

// MarshalText shows no value.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue shows no value.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// Set is the secrets of a configuration, by name. The zero Set has none.
type Set struct{ byName map[string]Secret }

// NewSet takes the secrets by their names.
func NewSet(byName map[string]Secret) Set { return Set{maps.Clone(byName)} }

// Names are those of all secrets, sorted.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// Lookup finds a secret.
func (s Set) Lookup(name string) (Secret, bool) {
	found, ok := s.byName[name]
	return found, ok
}

// String shows the names.
func (s Set) String() string { return fmt.Sprint(s.Names()) }

// GoString shows the names.
func (s Set) GoString() string { return s.String() }

// MarshalText shows the names.
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue shows the names.
func (s Set) LogValue() slog.Value { return slog.StringValue(s.String()) }

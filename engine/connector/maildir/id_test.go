package maildir

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

func TestAnOddNameIsEscapedAndAPlainOneIsItsOwnID(t *testing.T) {
	long := strings.Repeat("x", 200)
	for name, want := range map[string]string{
		"1700000000.M1P2.host:2,RS":       "1700000000.M1P2.host",
		"b.eml":                           "b.eml",
		" a b ":                           " a b ",
		`a\b`:                             `a\b`,
		"100%41.zażółć":                   "100%41.zażółć",
		strings.Repeat("x", 255):          strings.Repeat("x", 255),
		"5.n\xe9w":                        "5.n/E9w",
		"5.n\xe9w!2,S":                    "5.n/E9w",
		"a\nb\tc\x7f":                     "a/0Ab/09c/7F",
		"a\u0085b":                        "a/C2/85b",
		"a\uFFFDb":                        "a/EF/BF/BDb",
		" ":                               "/20",
		"\u00a0\n":                        "/C2/A0/0A",
		" :2,S":                           "/20",
		"7." + long + "\n" + "0123456789": "7." + long + "/0A0123456789",
		"7." + long + "\n" + long + "\xff": "7." + long + "/0A" + strings.Repeat("x", 15) +
			"/00d9a1a619ec231d3a4f2549040ef15af0",
	} {
		if got := idOf(name); got != want {
			t.Errorf("idOf(%q) = %q, want %q", name, got, want)
		}
	}
}

// FuzzIDs: every name has an id that an event can bear, that get takes, and that no other name has.
func FuzzIDs(f *testing.F) {
	for _, pair := range [][2]string{
		{"5.n\xe9w", "5.n\xe8w"}, {"a\nb", "a\tb"}, {" ", "\t"}, {"a", "a "}, {"a\uFFFD", "a\xff"},
		{"\u2003", "\u2002"},
		{strings.Repeat("\xff", 255), strings.Repeat("\xff", 254) + "\xfe"},
		{strings.Repeat("漢", 200), strings.Repeat("漢", 199)},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, name := range []string{a, b} {
			if name == "" || len(name) > 1024 || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\x00") {
				t.Skip("no file has this name, or none that is a mail")
			}
			id := idOf(name)
			if err := eventlog.MessageID(id).Validate(); err != nil || strings.TrimSpace(id) == "" {
				t.Errorf("the id of %q is not fit for an event: %q, %v", name, id, err)
			}
			if !isID(id) || len([]rune(id)) > 512 {
				t.Errorf("the id of %q is not taken by get: %q", name, id)
			}
		}
		if withoutFlags(a) != withoutFlags(b) && idOf(a) == idOf(b) {
			t.Errorf("%q and %q have one id %q", a, b, idOf(a))
		}
	})
}

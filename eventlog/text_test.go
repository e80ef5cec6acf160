package eventlog_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-run/pawl/eventlog"
)

// TestClip: a text has at most so many bytes, is valid, is cut between two characters and says that it was cut.
func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "lo…"},
		{"ééé", 6, "ééé"},
		{"éééé", 6, "é…"},
		{"\xff\xfe", 10, "\uFFFD"},
		{"\xff", 1, "…"},
		{strings.Repeat("😀", 30), 80, strings.Repeat("😀", 19) + "…"},
		{"any", 0, "…"},
	} {
		got := eventlog.Clip(c.text, c.most)
		if got != c.want || !utf8.ValidString(got) || got != eventlog.Clip([]byte(c.text), c.most) {
			t.Errorf("%q to %d bytes: %q, want %q", c.text, c.most, got, c.want)
		}
	}
	for most := 3; most < 40; most++ {
		if got := eventlog.Clip(strings.Repeat("aé😀\xf0\x9f", 8), most); len(got) > most || !utf8.ValidString(got) {
			t.Errorf("at most %d bytes: %d of %q", most, len(got), got)
		}
	}
	if got := eventlog.ClipName(strings.Repeat("n", 90)); len(got) != eventlog.MaxQuoted || !strings.HasSuffix(got, "n…") {
		t.Errorf("a name: %q", got)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 2: "2 runs"} {
		if got := eventlog.Count(n, "run"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestDeeper(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for text, want := range map[string]bool{
		"": false, "null": false, deep(3): false, deep(4): true,
		`{"a":{"b":[1]}}`: false, `{"a":{"b":[{}]}}`: true,
		`[[[]],[[]],[[]]]`: false, // beside each other
		`"[[[["`:           false, `["\"[[[["]`: false, `["\\",[[[`: true, `{"[[[[":"{{{{"}`: false,
		strings.Repeat("[", 4): true, "]]]]" + deep(3): false,
	} {
		if got := eventlog.Deeper([]byte(text), 3); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "1e308": false, "1.8e308": true, "1e999": true, "-1E+999": true, "1e-999": false, `"1e999"`: false,
		`{"1e999":"\"1e999"}`: false, `{"a":[1,{"b":1e999}]}`: true, "1" + strings.Repeat("0", 309): true,
		"0." + strings.Repeat("0", 400) + "1": false, `[1,2,`: false, "1e": false,
	} {
		if got := eventlog.TooLarge([]byte(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

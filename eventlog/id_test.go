package eventlog

import (
	"regexp"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	type named interface{ Validate() error }
	for _, c := range []struct {
		name  named
		valid bool
	}{
		{WorkflowName("a"), true}, {WorkflowName("Invoices_2-b"), true}, {WorkflowName("9"), true},
		{WorkflowName(strings.Repeat("a", 64)), true}, {WorkflowName(strings.Repeat("a", 65)), false},
		{WorkflowName(""), false}, {WorkflowName("-a"), false}, {WorkflowName("_a"), false}, {WorkflowName("a.b"), false},
		{WorkflowName("a b"), false}, {WorkflowName("a\n"), false}, {WorkflowName("ä"), false}, {WorkflowName("*"), false},
		{WorkflowName("a>"), false},

		{HookName("onMail_1-b"), true}, {HookName("-a"), false}, {HookName("a.b"), false}, {HookName(""), false},

		{Handler("onMail"), true}, {Handler("$x_1"), true}, {Handler("_"), true},
		{Handler(strings.Repeat("h", 64)), true}, {Handler(strings.Repeat("h", 65)), false},
		{Handler(""), false}, {Handler("1a"), false}, {Handler("a-b"), false}, {Handler("a.b"), false},

		{Topic("mail"), true}, {Topic("mail.in.new"), true}, {Topic("a-b_c.9"), true},
		{Topic(strings.Repeat("a", 64) + "." + strings.Repeat("b", 63)), true},
		{Topic(strings.Repeat("a", 64) + "." + strings.Repeat("b", 64)), false},
		{Topic(""), false}, {Topic("."), false}, {Topic("a."), false}, {Topic(".a"), false}, {Topic("a..b"), false},
		{Topic("a.*"), false}, {Topic("a.>"), false},

		{MessageID("x"), true}, {MessageID("a b/ü*>.\"'"), true}, {MessageID(strings.Repeat("x", 512)), true},
		{MessageID(strings.Repeat("x", 513)), false},
		{MessageID(""), false}, {MessageID("a\x00"), false}, {MessageID("a\n"), false}, {MessageID("\x7f"), false},
		{MessageID("\u0085"), false}, {MessageID("\xff"), false}, {MessageID("a\ufffd"), true},
	} {
		if err := c.name.Validate(); (err == nil) != c.valid {
			t.Errorf("%T %q: %v, want valid %t", c.name, c.name, err, c.valid)
		}
	}
	for id, valid := range map[MessageID]bool{"a b/ü": true, "a\ufffd": false, "\ufffd": false, "": false, "\xff": false,
		".": false, "..": false, "...": true, "./a": true, ".a": true} {
		if err := id.ValidatePublished(); (err == nil) != valid {
			t.Errorf("published under %q: %v, want valid %t", id, err, valid)
		}
	}
	for name, valid := range map[string]bool{"m": true, "http": true, "Send_1": true, "": false, "_a": false, "1": false,
		"a-b": false, "a.b": false} {
		if err := ValidateConnectorName(name); (err == nil) != valid {
			t.Errorf("connector %q: %v, want valid %t", name, err, valid)
		}
	}
}

// Each byte counts as the pattern says, at the first place and behind it.
func TestTokensAreThoseOfThePattern(t *testing.T) {
	pattern := regexp.MustCompile("^" + tokenPattern + "$")
	for c := range 256 {
		for _, text := range []string{string([]byte{byte(c)}), string([]byte{'a', byte(c)})} {
			if want := pattern.MatchString(text); isToken(text) != want {
				t.Errorf("%q is a token: %v, want %v", text, !want, want)
			}
		}
	}
}

func TestErrorsClipNames(t *testing.T) {
	err := WorkflowName(strings.Repeat("ü", 1000)).Validate()
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("error of %d bytes for a long name", len(err.Error()))
	}
}

func TestPosition(t *testing.T) {
	for text, want := range map[string]Position{"0:7": {0, 7}, "3:12": {3, 12}, "42": {0, 42}} {
		got, err := ParsePosition(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := ParsePosition(got.String()); err != nil || again != want {
			t.Errorf("%q does not survive: %v, %v", text, again, err)
		}
	}
	for _, text := range []string{"", ":", "a", "-1:2", "1:-2", "1:2:3", "1:"} {
		if got, err := ParsePosition(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

// TestPartitionOfIsFixed: these values are part of the stored format.
func TestPartitionOfIsFixed(t *testing.T) {
	for name, want := range map[WorkflowName][3]int{"invoices": {0, 2, 14}, "a": {0, 1, 10}, "mail-to-sheet": {0, 2, 9}} {
		got := [3]int{PartitionOf(name, 1), PartitionOf(name, 3), PartitionOf(name, 16)}
		if got != want {
			t.Errorf("%s lives in %v, want %v", name, got, want)
		}
	}
	counts := make([]int, 4)
	for i := range 4000 {
		counts[PartitionOf(WorkflowName(strings.Repeat("w",
			1+i%7)+string(rune('0'+i%10))+string(rune('a'+i/10%26))+string(rune('a'+i/260))), 4)]++
	}
	for p, n := range counts {
		if n < 800 || n > 1200 {
			t.Errorf("partition %d has %d of 4000 workflows", p, n)
		}
	}
}

// The ids of inputs are in the log: registering one again finds it only if its id is made as before.
func TestInputIDsStayTheSame(t *testing.T) {
	for _, c := range []struct {
		source, kind, external string
		want                   InputID
	}{
		{"push", "order.in", "order-1", "in_bc5aec15f53275946810e257"},
		{"producer", "x", strings.Repeat("y", 1000), "in_ef9bca7fda95d506155132ab"},
	} {
		if got := NewInputID(c.source, c.kind, c.external); got != c.want {
			t.Errorf("the input %s %s has id %s, want %s", c.source, c.kind, got, c.want)
		}
	}
}

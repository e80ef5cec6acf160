package deploy_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/deploy"
)

func TestSuggestions(t *testing.T) {
	for text, want := range map[string]string{
		"My invoices!": "My-invoices", "": "workflow", "-x": "x", "ok_name-1": "ok_name-1", "a  b//c": "a-b-c", "über": "ber",
		strings.Repeat("a", 70): strings.Repeat("a", 64),
	} {
		if got := deploy.SuggestWorkflowName(text); string(got) != want {
			t.Errorf("SuggestWorkflowName(%q) = %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"email received": "email-received", ".a..b.": "a.b", "": "topic", "mail/in.new": "mail-in.new",
	} {
		if got := deploy.SuggestTopic(text); string(got) != want {
			t.Errorf("SuggestTopic(%q) = %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"send-mail": "sendMail", "2nd": "_2nd", "": "handler", "größe": "grE", "a.b c": "aBC", "-x": "x",
	} {
		if got := deploy.SuggestHandler(text); string(got) != want {
			t.Errorf("SuggestHandler(%q) = %q, want %q", text, got, want)
		}
	}
}

// A suggestion that is refused in its turn is worse than none.
func FuzzSuggestionsAreUsable(f *testing.F) {
	for _, text := range []string{"", "-", "_", "a.b", "a b", strings.Repeat("x.", 100), strings.Repeat("é1", 90),
		"\x00\xff", "..", "a-.b-"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := deploy.SuggestWorkflowName(text).Validate(); err != nil {
			t.Error(err)
		}
		if err := deploy.SuggestTopic(text).Validate(); err != nil {
			t.Error(err)
		}
		if err := deploy.SuggestHandler(text).Validate(); err != nil {
			t.Error(err)
		}
	})
}

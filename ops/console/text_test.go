package console

import (
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// Explanations name commands; a page has buttons for them.
func TestAsButtons(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"If it happened, next is given the result that you write behind --happened, as JSON, or null.": "If it happened, " +
			"next is given the result that you write with “It happened”, as JSON, or null.",
		"A redrive with --including-unknown does it again": "A redrive of those too whose call may have been applied does " +
			"it again",
		"The system holds it too (loss): lost. `pawl resume` ends both.": "The system holds it too (loss): lost. “Resume” " +
			"ends both.",
		"skip it; pawl redrive brings back what was skipped.": "skip it; “Redrive” brings back what was skipped.",
		"until you have looked at the other side: pawl resume shop": "until you have looked at the other side, with " +
			"“Resume”",
		"Nothing is named here.": "Nothing is named here.",
	} {
		if got := asButtons(text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// A message is a sentence of a page: it begins with a capital letter, unless with the name of an operation.
func TestSaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"workflow shop is paused":   "Workflow shop is paused",
		"http.post cannot be asked": "http.post cannot be asked",
		"dryRun is true":            "dryRun is true",
		"über alles. Done":          "Über alles. Done",
		"":                          "",
	} {
		if got := said(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A line that begins as the head of a difference does is shown as any other.
func TestDiffShowsEachLine(t *testing.T) {
	t.Parallel()
	want := []diffLine{{"place", "@@ -1,2 +1,2 @@"}, {"removed", "---i;"}, {"added", "+++i;"}, {"", " done();"}}
	if got := diff("--i;\ndone();\n", "++i;\ndone();\n"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// What cannot be seen is shown by its number, and what belongs to a letter or an emoji is left alone.
func TestPlainShowsWhatIsHidden(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"pay\u200bment":          "pay‹200B›ment",
		"so\u00adft\u2060":       "so‹00AD›ft‹2060›",
		"\u3164\uffa0\u115f":     "‹3164›‹FFA0›‹115F›",
		"a\U000e0041\U000e0100":  "a‹E0041›‹E0100›",
		"\u202eevil\u2069\ufeff": "‹202E›evil‹2069›‹FEFF›",
		"line\u2028end\a":        "line‹2028›end‹0007›",
		"👩\u200d💻 ❤\ufe0f ok\n":  "👩\u200d💻 ❤\ufe0f ok\n",
		"می\u200cخواهم \u0600":   "می\u200cخواهم \u0600",
	} {
		if got := plain(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What a script says within an explanation is marked as said by it: it names no command of the console and no time.
func TestSentenceMarksWhatOthersSay(t *testing.T) {
	t.Parallel()
	p := page{now: time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)}
	got := string(p.Sentence("It failed at 2026-11-26T02:59:00Z: “Error: <b> run `pawl resume` at 2026-11-26T02:00:00Z”" +
		". `pawl resume` ends it."))
	want := `It failed at <time datetime="2026-11-26T02:59:00Z" title="60 s ago">02:59:00 UTC</time>: ` +
		"<bdi class=\"quoted\">“Error: &lt;b&gt; run `pawl resume` at 2026-11-26T02:00:00Z”</bdi>. “Resume” ends it."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Nobody has rejected a call that was withdrawn with its workflow.
func TestDecidedByAnArchive(t *testing.T) {
	t.Parallel()
	withdrawn := decided(eventlog.ResolvedByUserReject, &readmodel.Failure{Message: "it was never sent"})
	if withdrawn != "it was withdrawn, since the workflow was archived" {
		t.Errorf("with an archive: %s", withdrawn)
	}
	if rejected := decided(eventlog.ResolvedByUserReject, nil); rejected != "a person rejected it" {
		t.Errorf("by a person: %s", rejected)
	}
}

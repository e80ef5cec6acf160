package console

import (
	"slices"
	"testing"
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

// A line that begins as the head of a difference does is shown as any other.
func TestDiffShowsEachLine(t *testing.T) {
	t.Parallel()
	want := []diffLine{{"place", "@@ -1,2 +1,2 @@"}, {"removed", "---i;"}, {"added", "+++i;"}, {"", " done();"}}
	if got := diff("--i;\ndone();\n", "++i;\ndone();\n"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

package amend

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/sandbox"
)

// Apply makes edits in a text. Of two that touch the same text the first is made. It answers how many are.
func Apply(text string, edits []sandbox.Edit) (amended string, made int) {
	s := Read(text)
	type change struct {
		from, to int
		text     string
	}
	var changes []change
	for _, e := range edits {
		from := s.offset(sandbox.Place{Line: e.Line, Column: e.Column})
		to := s.offset(sandbox.Place{Line: e.EndLine, Column: e.EndColumn})
		if from < 0 || to < from || slices.ContainsFunc(changes, func(c change) bool {
			return from < c.to && c.from < to || from == c.from || to == c.to
		}) {
			continue
		}
		changes = append(changes, change{from, to, e.Text})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	at := 0
	for _, c := range changes {
		out.WriteString(text[at:c.from] + c.text)
		at = c.to
	}
	out.WriteString(text[at:])
	return out.String(), len(changes)
}

package explain

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/projections"
)

// The table of OPERATIONS.md has a row for each wait that is more than rest, and for each block, and no other.
func TestThePageForOperatorsNamesEachWait(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n| it says | what to do |\n|---|---|\n")
	table, _, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatal("OPERATIONS.md has no table of what stands still")
	}
	var have []string
	name := regexp.MustCompile("`([a-zA-Z]+)(?: \\(([a-z, ]+)\\))?`")
	for row := range strings.Lines(table) {
		for _, cell := range name.FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
			if cell[2] == "" {
				have = append(have, cell[1])
				continue
			}
			for inner := range strings.SplitSeq(cell[2], ", ") {
				have = append(have, cell[1]+" "+inner)
			}
		}
	}
	want := []string{string(decide.ReasonBlocked) + " " + string(projections.AttentionDamage)}
	for _, reason := range decide.Reasons() {
		if reason != decide.ReasonBlocked && reason.Meaning() != decide.Rests {
			want = append(want, string(reason))
		}
	}
	for reason := range remedies {
		want = append(want, string(decide.ReasonBlocked)+" "+string(reason))
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("OPERATIONS.md has rows for\n%q\nwant\n%q", have, want)
	}
}

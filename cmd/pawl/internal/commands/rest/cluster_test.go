package rest

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops/doctor"
)

// What a copy lacks is said as it is known: away, without an answer, or so many writes behind.
func TestCopiesThatAreNotCurrent(t *testing.T) {
	t.Parallel()
	for want, lacking := range map[string]doctor.LackingCopy{
		"stream S: it has no leader, or too few copies": {Stream: "S"},
		"stream S: the copy on a is away":               {Stream: "S", Server: "a", Offline: true},
		"stream S: the copy on a does not answer":       {Stream: "S", Server: "a"},
		"stream S: the copy on a is 7 writes behind":    {Stream: "S", Server: "a", Lag: 7},
	} {
		var out strings.Builder
		sayCopies(term.Screen{Out: &out}, &doctor.Copies{Lacking: []doctor.LackingCopy{lacking}})
		if !strings.HasSuffix(out.String(), "stop no node now\n"+want+"\n") {
			t.Errorf("it says\n%s\nwant %s", out.String(), want)
		}
	}
}

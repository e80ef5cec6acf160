package act

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// consequence is what an action on a mutation has done, and the work that then goes on unless the workflow is held;
// work is empty where a hold does not matter.
type consequence struct{ done, work string }

var (
	approved = consequence{done: "is approved: it leaves once, exactly as recorded"}
	rejected = consequence{done: "is rejected: nothing has left, its events end as skipped, " +
		"and its run goes on without it"}
	undone     = consequence{done: "did not happen: its events are free", work: "a fresh run takes them"}
	skipped    = consequence{done: "is skipped: its events end as skipped", work: "the workflow goes on without it"}
	askedAgain = consequence{done: "is asked about again; nothing is sent"}
)

// happened is the consequence for a mutation that happened (O4): next gets the result that the person has written, or
// null.
func happened(result string) consequence {
	if result == "" {
		result = "null as none was given"
	}
	return consequence{done: "happened, with the result " + term.OneLine(result, 200), work: "its run goes on with next"}
}

// of is the text of the consequence for one mutation, whose workflow has this status.
func (c consequence) of(mutation string, w workflowStatus) string {
	text := mutation + " " + c.done
	switch {
	case c.work == "":
	case w.Status == "archived":
		text += fmt.Sprintf("; %s is archived, so nothing of it runs again", w.Name)
	case w.UserPaused:
		text += fmt.Sprintf(", and %s once %s is resumed (pawl resume %s)", c.work, w.Name, w.Name)
	case w.Blocked != nil || w.Maintenance:
		text += fmt.Sprintf(", and %s once %s is no longer held (pawl why %s)", c.work, w.Name, w.Name)
	default:
		text += ", and " + c.work
	}
	return text
}

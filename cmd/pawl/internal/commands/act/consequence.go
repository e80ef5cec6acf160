package act

import (
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// consequence is what an action on a mutation has done, and the work that then goes on unless the workflow is held;
// work is empty where a hold does not matter. Before an action on many, each says what becomes of each of them; after
// it, later names the step that is still to come, empty for none. resent stands for done where a call is sent again to
// find out what became of it.
type consequence struct{ each, done, resent, work, later string }

var (
	approved = consequence{each: "each leaves once, exactly as recorded",
		done:  "is approved: it leaves once, exactly as recorded",
		later: "each leaves as soon as nothing holds it; pawl why WORKFLOW says what a workflow waits for"}
	rejected = consequence{each: "none of them leaves, and their events end as skipped",
		done: "is rejected: nothing has left, its events end as skipped, and its run goes on without it"}
	undone = consequence{each: "each is sent again, by a fresh run with a new idempotency key: what has happened after " +
		"all then happens twice",
		done: "did not happen: its events are free", work: "a fresh run with a new idempotency key takes them"}
	skipped = consequence{each: "nothing is sent again, and their events end as skipped",
		done: "is skipped: its events end as skipped", work: "the workflow goes on without it"}
	askedAgain = consequence{each: "their hosts are asked again, or get the same call once more, with the same key, " +
		"where reconcile.resend is configured",
		done: "is asked about again; nothing is sent",
		resent: "is not asked about: the same call is sent again with the same key, which its host is configured to " +
			"recognise (not while its workflow is paused)"}
)

// happened is the consequence for a mutation that happened (O4): next gets the result that the person has written, or
// null.
func happened(result string) consequence {
	if result == "" {
		result = "null as none was given"
	}
	return consequence{each: "nothing is sent again, and next runs for each",
		done: "happened, with the result " + term.OneLine(result, 200), work: "its run goes on with next"}
}

// sending is the consequence for a call that is sent again to find out what became of it, if so.
func (c consequence) sending(resends bool) consequence {
	if resends && c.resent != "" {
		c.done = c.resent
	}
	return c
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

package look

import (
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections"
)

// addHolds adds to each listed workflow what holds it and why, in a few words. `pawl why` explains it in full.
func addHolds(c *client.Connection, p term.Page) {
	if len(p.Items) == 0 {
		return
	}
	var all struct{ Items []explain.Why }
	_ = c.Call("explainAll", nil, &all) // without an answer the workflows' own facts are shown
	whys := map[string]explain.Why{}
	for _, why := range all.Items {
		whys[string(why.Workflow)] = why
	}
	for _, w := range p.Items {
		name, _ := w["name"].(string)
		held, because := heldBy(w, whys[name])
		w["held"], w["because"] = strings.Join(held, ", "), strings.Join(because, "; ")
	}
}

// heldBy lists what holds a workflow, by the names that `pawl why` and the interface use, and what each means. A pause,
// a block and a necessary repair are facts of the workflow, and there may be several of them; the rest is what the
// workflow waits for at this moment.
func heldBy(workflow map[string]any, why explain.Why) (held, because []string) {
	add := func(reason, words string) { held, because = append(held, reason), append(because, words) }
	reason := decide.ReasonIdle
	if why.Reason != nil {
		reason = *why.Reason
	}
	if reason == decide.ReasonNoWorker {
		add(string(reason), "out of service: its log cannot be followed")
	}
	if paused, _ := workflow["userPaused"].(bool); paused {
		if reason == decide.ReasonRestored {
			add(string(reason), "restored from a backup: look at the other side, then resume it")
		} else {
			add(string(decide.ReasonUserPause), "paused by a person")
		}
	}
	if blocked, ok := workflow["blocked"].(map[string]any); ok {
		words := term.Plain(blocked["message"])
		if reason == decide.ReasonReconcile && why.Until != 0 {
			words += " again at " + local(why.Until)
		}
		add(term.Plain(blocked["reason"]), words)
	}
	if maintenance, _ := workflow["maintenance"].(bool); maintenance {
		words := "its script needs a repair"
		if since, ok := term.At(workflow, "repair.requestedAt").(string); ok {
			words += " since " + term.Moment(since)
		}
		add(string(decide.ReasonMaintenance), words)
	}
	if why.Attention != nil && why.Attention.Reason == projections.AttentionDamage {
		add(string(projections.AttentionDamage), "its log is damaged: nothing new begins")
	}
	if attention, ok := workflow["attention"].(map[string]any); ok {
		since := ""
		if at, ok := attention["since"].(string); ok {
			since = " since " + term.Moment(at)
		}
		words := term.Plain(attention["failures"]) + " transient failures in a row" + since
		switch attention["reason"] {
		case string(projections.AttentionDiscarded):
			words = term.Plain(attention["failures"]) + " discarded" + since
		case string(projections.AttentionHeld):
			words = term.Plain(attention["failures"]) + " held for a person or a repair" + since
		case string(projections.AttentionProbing):
			words = "the target of a consumer fails, " + term.Plain(attention["failures"]) + " in a row" + since
		case string(projections.AttentionFailing):
			words = term.Plain(attention["failures"]) + " fail again and again" + since
		case string(projections.AttentionUnknown):
			words = term.Plain(attention["failures"]) + " may have been handled or not" + since
		}
		add("attention", words)
	}
	switch {
	case reason == decide.ReasonBackoff && why.Until != 0:
		add(string(reason), "it tries again at "+local(why.Until))
	case why.Moving && why.Until != 0:
		add(string(decide.ReasonCall), "the answer to its call is awaited, at the latest until "+local(why.Until))
	case reason == decide.ReasonProbing && why.Until != 0:
		add(string(reason), "the target of a consumer is tried again at "+local(why.Until))
	case reason == decide.ReasonUncertain:
		add(string(reason), "a consumer begins no run: the outcomes of three of its calls in a row are not known")
	case reason == decide.ReasonHeldMost:
		add(string(reason), "a consumer begins no run: as many of its events are held as may be")
	case reason == decide.ReasonNoOwner:
		add(string(reason), "no engine of the cluster owns its partition")
	case reason == decide.ReasonStorage:
		add(string(reason), "storage cannot take its next step, or the engine is shutting down")
	}
	return held, because
}

// local is a moment as lists show it.
func local(t eventlog.Instant) string { return t.Time().Local().Format(term.MomentLayout) }

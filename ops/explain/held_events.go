package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// heldGroup are the events that are held for the same reason after the same kind of failure.
type heldGroup struct {
	reason eventlog.HeldReason
	class  eventlog.Class
	code   string
	events []*projections.TopicEvent
}

// maxGroups bounds the kinds of failures that are told apart for one reason.
const maxGroups = 8

// explainHeld explains every event that is held: by reason and kind of failure, each with the oldest event and the
// commands that end it.
func (w *Why) explainHeld(s *projections.State) {
	groups := heldGroups(s)
	keys := keysOf(s, groups)
	for _, reason := range eventlog.HeldReasons() {
		of := slices.DeleteFunc(slices.Clone(groups), func(g heldGroup) bool { return g.reason != reason })
		w.begin(PartHeld)
		if reason == eventlog.HeldReconcile {
			w.current().of = PartAsked
		}
		n := 0
		for i, g := range of {
			if n += len(g.events); i < maxGroups {
				w.explainGroup(s, g, keys)
			}
		}
		if len(of) > maxGroups {
			w.add("There are %d more kinds of failures for which events are held for %s.", len(of)-maxGroups,
				reasonWordsOfMany[reason])
		}
		if n > 0 {
			w.canEnd(s, reason, of)
			w.listBehind(s, of, keys)
			w.nameBusiest(s, of, keys)
		}
	}
}

// heldGroups groups the held events by reason and failure, the largest group first.
func heldGroups(s *projections.State) (groups []heldGroup) {
	if s.HeldEvents() == 0 {
		return nil
	}
	for _, e := range s.Events() {
		if e.Held == nil {
			continue
		}
		of := heldGroup{reason: e.Held.Reason}
		if f := failureOf(s, e); f != nil && e.Held.Reason != eventlog.HeldApproval {
			of.class, of.code = f.Class, f.Code
		}
		at := slices.IndexFunc(groups, func(g heldGroup) bool {
			return g.reason == of.reason && g.class == of.class && g.code == of.code
		})
		if at < 0 {
			at = len(groups)
			groups = append(groups, of)
		}
		groups[at].events = append(groups[at].events, e)
	}
	for _, g := range groups {
		slices.SortFunc(g.events, func(a, b *projections.TopicEvent) int {
			if a.Created.Before(b.Created) {
				return -1
			}
			return 1
		})
	}
	slices.SortStableFunc(groups, func(a, b heldGroup) int {
		return cmp.Or(cmp.Compare(len(b.events), len(a.events)), cmp.Compare(a.class, b.class),
			cmp.Compare(a.code, b.code))
	})
	return groups
}

// reasonWords say what one event is held for, and reasonWordsOfMany what several are held for.
var reasonWords = map[eventlog.HeldReason]string{
	eventlog.HeldApproval:      "an approval of its call; nothing has left",
	eventlog.HeldIndeterminate: "a person to say whether its call was applied",
	eventlog.HeldReconcile:     "the outcome of its call, which is being found out",
	eventlog.HeldPerson:        "a person",
	eventlog.HeldRepair:        "a repair of the script; any new version frees it",
}

var reasonWordsOfMany = map[eventlog.HeldReason]string{
	eventlog.HeldApproval:      "an approval of their calls; nothing has left",
	eventlog.HeldIndeterminate: "a person to say whether their calls were applied",
	eventlog.HeldReconcile:     "the outcomes of their calls, which are being found out",
	eventlog.HeldPerson:        "a person",
	eventlog.HeldRepair:        "a repair of the script; any new version frees them",
}

// explainGroup explains a group of held events, and names the oldest.
func (w *Why) explainGroup(s *projections.State, g heldGroup, keys heldKeys) {
	first := g.events[0]
	f := failureOf(s, first)
	why := ""
	if f != nil && g.reason != eventlog.HeldApproval {
		line, example := "", ": "
		if f.Line != 0 {
			line = fmt.Sprintf(" in line %d", f.Line)
		}
		if g.differ(s) {
			example = fmt.Sprintf("; such as, for %s: ", quoted(string(first.MessageID)))
		}
		why = fmt.Sprintf(" (%s %s%s%s%s)", f.Class, f.Code, example, quoted(f.Message), line)
	}
	words, call, it := reasonWords[g.reason], "its call", "it"
	if len(g.events) > 1 {
		words, call, it = reasonWordsOfMany[g.reason], "their calls", "them"
	}
	text := words + why
	if s.Archived && g.reason == eventlog.HeldRepair {
		text = fmt.Sprintf("a repair of the script; no version frees %s any more, but a skip does%s", it, why)
	}
	switch _, m := heldBy(s, first); {
	case g.reason == eventlog.HeldReconcile && m != nil && !m.Call.Reconciles:
		text = fmt.Sprintf("a person to decide once nothing of %s can be under way%s", call, why)
		if m.OverAt != 0 && len(g.events) == 1 {
			text = fmt.Sprintf("a person to decide at %s, when nothing of its call can be under way%s", m.OverAt, why)
		}
	case onlyNextIsLeft(first) &&
		(g.reason == eventlog.HeldRepair || g.reason == eventlog.HeldPerson):
		left := "and only next is left to run"
		if s.Archived {
			left = "and next does not run any more"
		}
		text += "; what it had to change outside is settled, " + left
	}
	switch changed := f != nil && f.Code == deploy.CodeChanged; {
	case s.Archived: // nothing of it is tried again
	case changed && g.reason == eventlog.HeldPerson && g.deployed(s) != "":
		text += fmt.Sprintf("; the script has been deployed since (%s): pawl resume %s", g.deployed(s), s.Name)
	case changed && g.reason == eventlog.HeldPerson:
		text += "; deploy the script again to accept that, then resume"
	case g.reason == eventlog.HeldPerson:
		if remedy := remedies[eventlog.BlockReason(classOf(f))]; remedy != "" && classOf(f) != eventlog.Logic {
			text += "; " + strings.ToLower(remedy[:1]) + strings.TrimSuffix(remedy[1:], ".")
		}
	}
	name := eventName(s, eventlog.EventRef{Topic: first.Topic, MessageID: first.MessageID})
	if len(g.events) == 1 {
		w.add("Held since %s for %s: %s%s.", first.Held.Since, text, name, keys.say(s, first, "it"))
		return
	}
	w.add("%s held, the oldest since %s, for %s: %s and %d more%s.", eventlog.Count(len(g.events), "event")+" are",
		first.Held.Since, text, name, len(g.events)-1, keys.say(s, first, "the first of them"))
}

// differ reports whether the failures of the events have different messages.
func (g heldGroup) differ(s *projections.State) bool {
	messages := map[string]bool{}
	for _, e := range g.events {
		if f := failureOf(s, e); f != nil {
			messages[f.Message] = true
		}
	}
	return len(messages) > 1
}

// failureOf is the failure because of which the event is held, as far as it is in memory.
func failureOf(s *projections.State, e *projections.TopicEvent) *eventlog.Failure {
	run, m := heldBy(s, e)
	return readmodel.HeldFailure(e, run, m)
}

func classOf(f *eventlog.Failure) eventlog.Class {
	if f == nil {
		return ""
	}
	return f.Class
}

// canEnd names the commands that end the holds for the reason: for the one event, or for all of them.
func (w *Why) canEnd(s *projections.State, reason eventlog.HeldReason, of []heldGroup) {
	if len(of) == 1 && len(of[0].events) == 1 {
		e := of[0].events[0]
		run, m := heldBy(s, e)
		if m != nil && reason != eventlog.HeldRepair && reason != eventlog.HeldPerson {
			w.once("pawl mutations show %s", m.ID)
		} else {
			w.once("%s", eventCommand("jobs show", s.Name, e.Topic, e.MessageID))
		}
		ends := w.with.ends(&s.Workflow, e, run, m, deployedSince(s, run, e.Held.Since) != "")
		if reason == eventlog.HeldIndeterminate && m != nil {
			ends = w.resolutions(s.Name, m, string(m.ID))
		}
		for _, command := range ends {
			w.once("%s", command)
		}
		return
	}
	events := fmt.Sprintf("%s --where held=%s", s.Name, reason)
	mutations := fmt.Sprintf("--where workflow=%s,held=%s", s.Name, reason)
	list := fmt.Sprintf("pawl jobs list --workflow %s --held %s", s.Name, reason)
	if reason == eventlog.HeldApproval || reason == eventlog.HeldIndeterminate || reason == eventlog.HeldReconcile {
		list = fmt.Sprintf("pawl mutations list --workflow %s --held %s", s.Name, reason)
	}
	w.once("%s", list)
	switch {
	case reason == eventlog.HeldReconcile:
	case reason == eventlog.HeldIndeterminate:
		for _, command := range resolutions(mutations, w.outlookOf(s, of)) {
			w.once("%s", command)
		}
	case s.Archived:
		w.once("pawl skip %s", events)
	case reason == eventlog.HeldApproval:
		if s.Pause != nil {
			w.once("pawl resume %s", s.Name)
		} else {
			w.once("pawl approve %s", mutations)
		}
		w.once("pawl reject %s", mutations)
	default:
		changed := slices.ContainsFunc(of, func(g heldGroup) bool {
			return g.code == deploy.CodeChanged && g.deployed(s) == ""
		})
		if reason == eventlog.HeldRepair || changed {
			w.once("pawl deploy FILE")
		}
		if reason == eventlog.HeldPerson {
			w.once("pawl resume %s", s.Name)
		}
		if slices.ContainsFunc(of, func(g heldGroup) bool { return g.class == eventlog.Logic }) {
			w.once("pawl deploy FILE")
		}
		// What ends one kind of failure leaves the others as they are.
		for _, part := range parts(of) {
			w.once("pawl redrive %s%s", events, part.filter)
			if part.skips {
				w.once("pawl skip %s%s", events, part.filter)
			}
		}
	}
}

// plainCode is a code that means nothing else to a shell, or in a filter.
var plainCode = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)

// heldPart are held events that one filter fits.
type heldPart struct {
	filter string // the end of a filter, after the reason
	skips  bool   // a skip ends each of them now: none has its change made, with only next left to run (O7)
}

// parts gives each group of one reason a filter of its own. Where that cannot be done, one part stands for all of them.
func parts(groups []heldGroup) (list []heldPart) {
	all := heldPart{skips: true}
	apart := len(groups) > 1 && len(groups) <= maxGroups
	for _, g := range groups {
		part := heldPart{fmt.Sprintf(",class=%s,code=%s", g.class, g.code), !slices.ContainsFunc(g.events, onlyNextIsLeft)}
		list = append(list, part)
		all.skips = all.skips && part.skips
		apart = apart && plainCode.MatchString(g.code)
	}
	if !apart {
		return []heldPart{all}
	}
	return list
}

// onlyNextIsLeft reports whether the change of an event that is held for a person or a repair is made. A skip is then
// recorded, and ends the event and its hold only once next has run (O7).
func onlyNextIsLeft(e *projections.TopicEvent) bool { return e.Status == eventlog.EventStatusReserved }

// heldBy returns the run after which the event is held, and that run's mutation, as far as they are in memory.
func heldBy(s *projections.State, e *projections.TopicEvent) (*projections.Run, *projections.Mutation) {
	run := s.Run(e.Held.Run)
	if run == nil || run.Mutation == "" {
		return run, nil
	}
	return run, s.Mutation(run.Mutation)
}

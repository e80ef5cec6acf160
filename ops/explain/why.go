package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// Why explains what a workflow is doing or waiting for.
type Why struct {
	Workflow eventlog.WorkflowName `json:"workflow"`
	// Moving is true while something is being done right now; Reason is null then.
	Moving bool           `json:"moving"`
	Reason *decide.Reason `json:"reason" jsonschema:"null while moving"`
	// Since is when it began, null where the facts do not say.
	Since eventlog.Instant `json:"since"`
	// Until is when it ends by itself, null when something must happen first.
	Until eventlog.Instant `json:"until"`
	// Subject names the run, mutation, handler or event it is about.
	Subject *string `json:"subject"`
	Message string  `json:"message"`
	// Commands are what a person can do about it, the most likely one first.
	Commands []string `json:"commands"`
	// Parts are the same sentences and commands by the thing that they are about; none where they are about one thing.
	Parts []Paragraph `json:"parts,omitempty" jsonschema:"message and commands once more, by the thing that they are about"`
	// Attention is what a person should look at although nothing waits for a person; null for nothing.
	Attention *readmodel.Attention `json:"attention"`

	// NeedsPerson says that only a person lets it go on, or should look: `pawl why` then ends with exit code 3.
	NeedsPerson bool `json:"needsPerson"`

	with  Beside
	parts []part // Message and Commands are made of them
}

// Paragraph is what an explanation says about one thing, and what a person can do about that.
type Paragraph struct {
	Message  string   `json:"message"`
	Commands []string `json:"commands"`
}

// Beside is what an explanation knows beside the state. The zero value adds nothing.
type Beside struct {
	// Cause is the run that a wait comes from, where it is not in memory any more: see [Cause]. It is not added to the
	// state, since only the workflow's worker may write to copies of that.
	Cause *projections.Run
	// Outlook is what the engine knows about the call of an indeterminate mutation; nil for nothing.
	Outlook func(eventlog.WorkflowName, eventlog.MutationID) engine.Outlook
}

// outlook is the outlook of a mutation's call. Without an engine it is made from the mutation's record alone.
func (b Beside) outlook(w eventlog.WorkflowName, m *projections.Mutation) engine.Outlook {
	if b.Outlook == nil {
		return engine.Outlook{Asks: m.Call.Reconciles}
	}
	return b.Outlook(w, m.ID)
}

// run returns a run that the explanation speaks of, or nil.
func (w *Why) run(s *projections.State, id eventlog.RunID) *projections.Run {
	if cause := w.with.Cause; cause != nil && cause.ID == id {
		return cause
	}
	return s.Run(id)
}

func (w *Why) about(subject string) {
	if subject != "" {
		w.Subject = &subject
	}
}

// Part names the subject of some sentences and commands of an explanation.
type Part string

// The parts, in the order in which an explanation has them.
const (
	// PartNow: what the workflow does or waits for.
	PartNow Part = "now"
	// PartStanding: the state of a concurrent consumer; PartProbing: that its target is the cause of failures (C7).
	PartStanding Part = "standing"
	PartProbing  Part = "probing"
	// PartHeld: events that are held for a person, PartAsked: for an outcome that is being found out (C5).
	PartHeld  Part = "held"
	PartAsked Part = "asked"
	// PartFailing: failures that are so many that a person should look (F8).
	PartFailing Part = "failing"
	// PartUndecided: events that an accepted loss has ended (O11).
	PartUndecided Part = "undecided"
	// PartDiscarded: events whose attempts are used up (J2).
	PartDiscarded Part = "discarded"
	// PartUnread: events that no consumer takes.
	PartUnread Part = "unread"
	// PartHooks: hooks that refuse every request.
	PartHooks Part = "hooks"
	// PartTurn: calls that wait for their turn at a target.
	PartTurn Part = "turn"
)

// personal are the parts that are about what a person should do or look at.
var personal = []Part{PartHeld, PartUndecided, PartProbing, PartFailing, PartDiscarded}

// part is what an explanation says about one thing, and what a person can do about that.
type part struct {
	of       Part
	message  string
	commands []string
}

func (p *part) set(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.message = strings.ToUpper(text[:1]) + text[1:]
}

func (p *part) add(format string, args ...any) {
	if p.message != "" {
		p.message += " "
	}
	p.message += fmt.Sprintf(format, args...)
}

// begin begins a part: the next sentences and commands belong to it.
func (w *Why) begin(of Part) { w.parts = append(w.parts, part{of: of}) }

// current is the part that was begun last.
func (w *Why) current() *part {
	if len(w.parts) == 0 {
		w.begin(PartNow)
	}
	return &w.parts[len(w.parts)-1]
}

// set sets the text of the present part, in place of its former text.
func (w *Why) set(format string, args ...any) { w.current().set(format, args...) }

// add appends a sentence.
func (w *Why) add(format string, args ...any) { w.current().add(format, args...) }

// once offers the command unless it is named already.
func (w *Why) once(format string, args ...any) {
	if command := fmt.Sprintf(format, args...); !w.names(command) {
		w.offer("%s", command)
	}
}

// offer adds a command that a person has.
func (w *Why) offer(format string, args ...any) {
	p := w.current()
	p.commands = append(p.commands, fmt.Sprintf(format, args...))
}

// names reports whether a command is named already.
func (w *Why) names(command string) bool {
	return slices.ContainsFunc(w.parts, func(p part) bool { return slices.Contains(p.commands, command) })
}

// compose makes the message and the commands of the parts.
func (w *Why) compose() {
	var said []string
	w.Commands, w.Parts = []string{}, nil
	for _, p := range w.parts {
		if p.message != "" {
			said = append(said, p.message)
		}
		w.Commands = append(w.Commands, p.commands...)
		if p.message != "" || len(p.commands) > 0 {
			w.Parts = append(w.Parts, Paragraph{p.message, append([]string{}, p.commands...)})
		}
	}
	if w.Message = strings.Join(said, " "); len(w.Parts) == 1 {
		w.Parts = nil
	}
}

// First is the same explanation with these parts first, in this order.
func (w Why) First(of ...Part) Why {
	if len(w.parts) == 0 {
		return w // it has no parts
	}
	place := func(p part) int {
		if at := slices.Index(of, p.of); at >= 0 {
			return at
		}
		return len(of)
	}
	w.parts = slices.Clone(w.parts)
	slices.SortStableFunc(w.parts, func(a, b part) int { return place(a) - place(b) })
	w.compose()
	return w
}

// maxTried bounds the commands of a headline.
const maxTried = 3

// Headline says first what needs a person, if anything does, and then the rest. The commands are those of its first
// sentence, at most three.
func (w Why) Headline() (message string, commands []string) {
	headline := w
	switch waits := w.Reason != nil; {
	case waits && *w.Reason == decide.ReasonHeld:
		headline = w.First(append([]Part{PartNow}, personal...)...)
	case !w.NeedsPerson || waits && (w.Reason.Meaning() == decide.NeedsPerson || *w.Reason == decide.ReasonUserPause):
	case slices.ContainsFunc(w.parts, func(p part) bool { return slices.Contains(personal, p.of) }):
		headline = w.First(personal...)
		headline.Message = fmt.Sprintf("Workflow %s needs a person to look. %s", w.Workflow, headline.Message)
	}
	commands = headline.Commands
	for _, p := range headline.parts {
		if len(p.commands) > 0 {
			commands = p.commands
			break
		}
	}
	return headline.Message, commands[:min(len(commands), maxTried)]
}

package explain

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// callName names a mutation's call for a person, and the events that it was made for.
func callName(s *projections.State, m *projections.Mutation) string {
	name := fmt.Sprintf("mutation %s (%s.%s", m.ID, m.Call.Connector, m.Call.Operation)
	if m.Call.UITitle != "" {
		name += ": " + quoted(m.Call.UITitle)
	}
	name += ")"
	run := s.Run(m.Run)
	switch {
	case run == nil || len(run.Reserved) == 0:
		return name
	case len(run.Reserved) == 1:
		return name + " for " + eventName(s, run.Reserved[0])
	}
	return fmt.Sprintf("%s for %s", name, eventlog.Count(len(run.Reserved), "event"))
}

// eventName names an event with its title, where that is in memory.
func eventName(s *projections.State, ref eventlog.EventRef) string {
	title := ""
	if e := s.Event(ref.Topic, ref.MessageID); e != nil && e.Title != "" && e.Title != string(ref.MessageID) {
		title = titled(e.Title)
	}
	return fmt.Sprintf("event %q%s of topic %s", ref.MessageID, title, ref.Topic)
}

// eventCommand is a command about one event, as a person can copy it into a shell. The id may come from outside: one
// that begins with a dash would be read as a flag, so that the flags end before it.
func eventCommand(command string, w eventlog.WorkflowName, topic eventlog.Topic, id eventlog.MessageID,
	flags ...string) string {
	words := []string{"pawl", command, string(w), string(topic)}
	if strings.HasPrefix(string(id), "-") {
		words = append(append(words, flags...), "--", shellWord(string(id)))
	} else {
		words = append(append(words, shellWord(string(id))), flags...)
	}
	return strings.Join(words, " ")
}

// shellWord quotes a text that a shell would not read as one word.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.,:/@%+=", r)
	}
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

func because(f *eventlog.Failure) string {
	if f == nil || f.Message == "" {
		return ""
	}
	return " (" + quoted(f.Message) + ")"
}

// titled is the title of an event behind its id.
func titled(title string) string { return " (" + quoted(title) + ")" }

// quoted is a text of a script or from outside in quotation marks, in one line, and cut to a readable length. It
// reaches language models too, and may be written to mislead them: nothing in it ends the quotation, begins a line or
// changes the direction of the text.
func quoted(text string) string { return quotedWithin(text, maxCause) }

// quotedWithin is quoted with a bound in bytes.
func quotedWithin(text string, most int) string {
	text = strings.NewReplacer("“", "\"", "”", "\"").Replace(OneLine(text))
	return "“" + strings.TrimSuffix(eventlog.Clip(text, most), ".") + "”"
}

// OneLine is a text of a script or from outside in one line, in which each character can be seen: no part of it looks
// like a line of its own.
func OneLine(text string) string { return visible(strings.Join(strings.Fields(text), " ")) }

// visible replaces each character that cannot be seen.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// holdOf is why the system holds a workflow: a message of Pawl, in which a script or the other side may be quoted.
func holdOf(b *projections.Block) string { return quotedWithin(b.Message, maxHold) + "." }

func sentence(text string) string {
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// ofItsEvents says what some of a workflow's events do.
func ofItsEvents(n int, one, more string) string {
	return fmt.Sprintf("%d of its events %s", n, number(n, one, more))
}

// number chooses the word for one or for more.
func number(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// remedies say what to do about a system hold before resuming.
var remedies = map[eventlog.BlockReason]string{
	eventlog.BlockTransient: "Its transient retries are exhausted; resuming starts them again.",
	eventlog.BlockLogic: "It is not repaired automatically any more; deploy a corrected script, " +
		"or resume to try the same one again.",
	eventlog.BlockPermission: "Grant what it needs, or let the connector's configuration allow it and start the " +
		"engine again; then resume.",
	eventlog.BlockAuth:         "Correct the connector's credentials, then resume.",
	eventlog.BlockPrecondition: "Bring the other side into the state that the call needs, then resume.",
	eventlog.BlockInternal: "This is a fault of Pawl or of a connector; the run's error says more. " +
		"Resuming tries again.",
	eventlog.BlockContradiction: "A late answer differs from the recorded outcome, which stands. Look at the other " +
		"side. If the call was carried out there and its event waits for another try, skip that event first: the try " +
		"would repeat the call. Then resume.",
	eventlog.BlockLoss: "A part of the log was lost and accepted as lost. " +
		"Check what the other side holds before resuming.",
}

// settled says what a run has changed outside of which only next is left to run.
func settled(run *projections.Run) string {
	if run != nil && run.Mutation == "" {
		return "It had nothing to change outside"
	}
	return "What it had to change outside is settled"
}

// maxCause bounds the quoted text of a failure, in bytes.
const maxCause = 300

// maxHold bounds the quoted reason of a system hold, in bytes: a message of the system, which may quote the other side.
const maxHold = 600

package rehearsal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// Recorded is a run of which a case is written.
type Recorded struct {
	recording.Recording
	// Change is the change that the run has named, nil for none.
	Change *Change
	// Failure is what the run has ended with, nil for none.
	Failure *eventlog.Failure
}

// Change is a change of a recorded run, and what became of it.
type Change struct {
	Operation string // `connector.operation`
	Params    json.RawMessage
	Status    eventlog.MutationStatus
	Result    json.RawMessage
	Failure   *eventlog.Failure
	Left      bool // its request was allowed to leave
}

// WriteYAML writes a test file with a case of each run: it gives the script what the run was given, lets the handler
// run once, and expects the call that the run has made. What a case cannot give again, and what its author has to say,
// stands in comments.
func WriteYAML(runs []Recorded) (string, error) {
	out := &caseWriter{}
	out.line("# Recorded runs. They hold what the scripts were shown: look at it before you pass this file on.")
	out.line("cases:")
	for i := range runs {
		if err := out.add(&runs[i]); err != nil {
			return "", fmt.Errorf("write the case of run %s: %w", runs[i].Run, err)
		}
	}
	return out.String(), nil
}

// caseWriter writes cases. Its values are JSON, which is YAML too.
type caseWriter struct{ strings.Builder }

func (w *caseWriter) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// step writes a step, and below it the keys with their values that are not empty.
func (w *caseWriter) step(verb string, first any, keys ...any) error {
	text, err := oneLine(first)
	if err != nil {
		return err
	}
	w.line("    - %s: %s", verb, text)
	for i := 0; i < len(keys); i += 2 {
		if raw, ok := keys[i+1].(json.RawMessage); ok && len(raw) == 0 {
			continue
		}
		if text, err = oneLine(keys[i+1]); err != nil {
			return err
		}
		w.line("      %s: %s", keys[i], text)
	}
	return nil
}

// comment writes a comment, which ends with its line whatever the text holds.
func (w *caseWriter) comment(format string, args ...any) {
	text := strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, fmt.Sprintf(format, args...))
	w.line("    # %s", text)
}

func (w *caseWriter) add(r *Recorded) error {
	name, err := oneLine(fmt.Sprintf("run %s of %s", r.Run, r.Handler))
	if err != nil {
		return err
	}
	w.line("  %s:", name)
	if err := w.step("clock", r.At.UTC().Format(time.RFC3339Nano)); err != nil {
		return err
	}
	if len(r.State) > 0 {
		if err := w.step("state", r.Handler, "value", r.State); err != nil {
			return err
		}
	}
	if err := w.reads(r.Reads); err != nil {
		return err
	}
	if err := w.change(r.Change); err != nil {
		return err
	}
	if err := w.events(r); err != nil {
		return err
	}
	if err := w.step("run", r.Handler); err != nil {
		return err
	}
	switch {
	case r.Change != nil && r.Change.Left:
		return w.step("expectCall", r.Change.Operation, "params", r.Change.Params)
	case r.Failure != nil:
		w.comment("The run failed (%s): %s", r.Failure.Code, r.Failure.Message)
		w.comment("Write here what it should have done, such as expectCall; without it no call is expected.")
		return nil
	}
	w.line("    - expectNoCalls")
	return nil
}

// reads writes what reads were answered. Of several answers that fit a call, a case takes the one that was written
// last. So answers for more parameters are written behind answers for fewer. Of several answers to the same call the
// first is written last, and each is for one call.
func (w *caseWriter) reads(reads []recording.Read) error {
	reads = slices.Clone(reads)
	slices.Reverse(reads)
	slices.SortStableFunc(reads, func(a, b recording.Read) int { return cmp.Compare(len(a.Params), len(b.Params)) })
	for i, read := range reads {
		if read.Connector == sandbox.OwnConnector {
			w.comment("ctx.%s(%s) finds here what the case has pushed, and nothing else.", read.Operation,
				eventlog.Clip(read.Params, 200))
			continue
		}
		keys := []any{"with", read.Params}
		if read.Failure != nil {
			keys = append(keys, "fails", refusalOf(read.Failure))
		} else {
			keys = append(keys, "result", orNull(read.Answer))
		}
		if slices.ContainsFunc(reads[:i], func(later recording.Read) bool {
			return later.Connector == read.Connector && later.Operation == read.Operation &&
				bytes.Equal(later.Params, read.Params)
		}) {
			keys = append(keys, "times", 1)
		}
		if err := w.step("answer", read.Connector+"."+read.Operation, keys...); err != nil {
			return err
		}
	}
	return nil
}

// change writes what the change was answered.
func (w *caseWriter) change(c *Change) error {
	switch {
	case c == nil || !c.Left:
		return nil
	case c.Status == eventlog.MutationStatusApplied:
		return w.step("answer", c.Operation, "result", orNull(c.Result))
	case c.Status == eventlog.MutationStatusFailed && c.Failure != nil:
		return w.step("answer", c.Operation, "fails", refusalOf(c.Failure), "times", 1)
	}
	w.comment("What became of %s was not known (%s): it is answered with null here.", c.Operation, c.Status)
	return nil
}

// events writes what was pending.
func (w *caseWriter) events(r *Recorded) error {
	topics := make([]string, 0, len(r.Pending))
	for topic := range r.Pending {
		topics = append(topics, topic)
	}
	slices.Sort(topics)
	for _, topic := range topics {
		type pushed struct {
			MessageID string          `json:"messageId"`
			Title     string          `json:"title"`
			Payload   json.RawMessage `json:"payload,omitempty"`
		}
		events := make([]pushed, 0, len(r.Pending[topic]))
		for _, e := range r.Pending[topic] {
			if e.Attempt > 1 {
				w.comment("Event %q was in attempt %d; here it is in its first.", e.MessageID, e.Attempt)
			}
			events = append(events, pushed{e.MessageID, e.Title, e.Payload})
		}
		if slices.Contains(r.More, topic) {
			w.comment("More events of %s were pending than are recorded.", topic)
		}
		if len(events) == 0 {
			continue
		}
		if err := w.step("push", topic, "events", events); err != nil {
			return err
		}
	}
	return nil
}

// refusalOf is a failure as a step says it.
func refusalOf(f *eventlog.Failure) Refusal {
	return Refusal{Class: f.Class, Code: f.Code, Message: f.Message}
}

func orNull(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("null")
	}
	return value
}

// oneLine is a value on one line. Numbers are written as a script has them.
func oneLine(value any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return longNumber.ReplaceAllStringFunc(strings.TrimSuffix(text.String(), "\n"), asInScripts), nil
}

// longNumber is a text, which stays as it is, or a number that a script may not have.
var longNumber = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]{15,}`)

// asInScripts is a number as scripts have it: there is one kind of them, of 64 bits.
func asInScripts(text string) string {
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(number, 'g', -1, 64)
	}
	return text
}

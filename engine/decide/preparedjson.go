package decide

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// Prepared is a prepare result, read and checked for shape.
type Prepared struct {
	// Raw is what mutate and next get: the script's own JSON.
	Raw          json.RawMessage
	Reservations []eventlog.EventRef
	UITitle      string
	WakeAt       eventlog.Instant
	Cancel       []eventlog.Cancellation
	Warnings     []string
}

// maxReason is the most bytes of a reason to cancel an event.
const maxReason = 1000

// ParsePrepared reads what prepare returned. A wrong shape is the script's fault. Duplicate
// reservations are folded (R9); a wakeAt that is no ISO 8601 text is ignored with a warning (S4).
func ParsePrepared(raw json.RawMessage) (Prepared, *eventlog.Failure) {
	bad := func(format string, args ...any) (Prepared, *eventlog.Failure) {
		return Prepared{}, failure(eventlog.Logic, "prepare.result",
			"prepare must return {reservations: [{topic, ids}], data: …, ui?, wakeAt?, cancel?}: "+format, args...)
	}
	if len(raw) == 0 || !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return bad("it returned %s", describe(raw))
	}
	var shape struct {
		Reservations []struct {
			Topic eventlog.Topic       `json:"topic"`
			IDs   []eventlog.MessageID `json:"ids"`
		} `json:"reservations"`
		UI *struct {
			Title json.RawMessage `json:"title"`
		} `json:"ui"`
		WakeAt json.RawMessage `json:"wakeAt"`
		Cancel []struct {
			Topic  eventlog.Topic       `json:"topic"`
			IDs    []eventlog.MessageID `json:"ids"`
			Reason string               `json:"reason"`
		} `json:"cancel"`
	}
	if err := json.Unmarshal(raw, &shape); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return bad("%s is a JSON %s", wrong.Field, wrong.Value)
		}
		return bad("it is no JSON")
	}
	p := Prepared{Raw: raw}
	if shape.Reservations == nil {
		return bad("reservations is missing; write reservations: [] where there is nothing to do") // R19
	}
	seen := map[eventlog.EventRef]bool{}
	for _, r := range shape.Reservations {
		for _, id := range r.IDs {
			ref := eventlog.EventRef{Topic: r.Topic, MessageID: id}
			if !seen[ref] {
				seen[ref] = true
				p.Reservations = append(p.Reservations, ref)
			}
		}
	}
	if shape.UI != nil && len(shape.UI.Title) > 0 {
		if err := json.Unmarshal(shape.UI.Title, &p.UITitle); err != nil {
			p.Warnings = append(p.Warnings, "ui.title is not a string and was ignored")
		}
	}
	cancelled := map[eventlog.EventRef]bool{}
	for _, c := range shape.Cancel {
		reason := eventlog.Clip(c.Reason, maxReason) // it is written down with each of the events
		if len(c.Reason) > maxReason {
			p.Warnings = append(p.Warnings, fmt.Sprintf("a reason to cancel has more than %d bytes and was cut", maxReason))
		}
		for _, id := range c.IDs {
			ref := eventlog.EventRef{Topic: c.Topic, MessageID: id}
			if !cancelled[ref] {
				cancelled[ref] = true
				p.Cancel = append(p.Cancel, eventlog.Cancellation{Topic: c.Topic, MessageID: id, Reason: reason})
			}
		}
	}
	if size := p.endSize(); size > maxEnd {
		return Prepared{}, failure(eventlog.Logic, "limit.result", "prepare reserves %s and cancels %d: the end of the run "+
			"would take about %d KiB to write down, at most %d KiB are allowed; choose fewer at a time, the rest is for the "+
			"next run", eventlog.Count(len(p.Reservations), "event"), len(p.Cancel), size>>10, maxEnd>>10)
	}
	if len(shape.WakeAt) > 0 && string(shape.WakeAt) != "null" {
		at, ok := parseTime(shape.WakeAt)
		if !ok {
			p.Warnings = append(p.Warnings, "wakeAt "+
				describe(shape.WakeAt)+" is no ISO 8601 text and was ignored; write new Date(…).toISOString()")
		}
		p.WakeAt = at
	}
	return p, nil
}

const (
	// maxEnd is the most bytes that the events of a run may take in the transition that ends it. The rest of the
	// 4 MiB is for the run's own facts.
	maxEnd = 3 << 20
	// eventEnd is at least what such an event takes besides its names and reason.
	eventEnd = 160
)

// endSize is at least what the events take when the run ends, whatever becomes of them: more than when they are
// reserved. A run whose end does not fit would be stuck for good.
func (p *Prepared) endSize() int {
	size := 0
	for _, ref := range p.Reservations {
		size += eventEnd + len(ref.Topic) + len(ref.MessageID)
	}
	for _, c := range p.Cancel {
		size += eventEnd + len(c.Topic) + len(c.MessageID) + len(c.Reason)
	}
	return size
}

// parseTime reads ISO 8601 text. A number is no time: whether it means seconds from now or
// milliseconds since 1970 would be a guess, and a wrong one runs a workflow all day (S4).
func parseTime(raw json.RawMessage) (eventlog.Instant, bool) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return 0, false
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1970 && t.Year() < 10000 {
			return eventlog.At(t), true
		}
	}
	return 0, false
}

func describe(raw json.RawMessage) string {
	const most = 60
	switch {
	case len(raw) == 0:
		return "nothing"
	case len(raw) > most:
		return string(bytes.ToValidUTF8(raw[:most], nil)) + "…"
	default:
		return string(raw)
	}
}

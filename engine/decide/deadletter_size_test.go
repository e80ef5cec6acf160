package decide

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
)

// TestJ7_LettersFit: what a run discards at once fits into one transition, whatever the events hold. If it did not, the
// outcome of the run's mutation could not be recorded.
func TestJ7_LettersFit(t *testing.T) {
	t.Parallel()
	payload := json.RawMessage(`"` + strings.Repeat("<&>", 100_000) + `"`)
	text, err := (&deadLetter{Payload: payload}).encode()
	if err != nil || len(text) > len(payload)+1000 {
		t.Errorf("a payload of %d bytes is written with %d: %v", len(payload), len(text), err)
	}
	largest := deadLetter{
		Topic: eventlog.Topic(strings.Repeat("t", 64)), MessageID: eventlog.MessageID(strings.Repeat("\x01", 512)),
		Title: strings.Repeat("\x01", maxDeadTitle), Omitted: true, Consumer: eventlog.Handler(strings.Repeat("h", 64)),
		Run: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Attempts: 1 << 30,
		Error: deadError{Class: eventlog.Precondition, Code: strings.Repeat("c", 100),
			Message: strings.Repeat("\x01", maxDeadMessage), Line: 1 << 30},
	}
	if text, err = largest.encode(); err != nil {
		t.Fatal(err)
	}
	if all := maxDeadPayloads + maxDeadEvents*len(text); all > 2<<20 {
		t.Errorf("the letters of one run take up to %d bytes", all)
	}
}

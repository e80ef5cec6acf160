package act

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// A push of several events says how many had ended, and names redrive only where it would bring one of them back.
func TestAPushSaysWhatItDoesNotChange(t *testing.T) {
	t.Parallel()
	const (
		unchanged = " had ended already, which a push does not change"
		brings    = "; pawl redrive brings back skipped and discarded ones"
	)
	for statuses, want := range map[string]string{
		"pending pending":          "2 events: 2 updated",
		"consumed pending":         "2 events: 2 updated; 1 event" + unchanged,
		"consumed consumed":        "2 events: 2 updated; 2 events" + unchanged,
		"consumed skipped pending": "3 events: 3 updated; 2 events" + unchanged + brings,
		"discarded pending":        "2 events: 2 updated; 1 event" + unchanged + brings,
	} {
		var out, said bytes.Buffer
		r := pushReport{screen: term.Screen{Out: &out, Err: &said}}
		var answers []json.RawMessage
		for _, status := range strings.Fields(statuses) {
			answers = append(answers, json.RawMessage(`{"messageId":"a","result":"updated","status":"`+status+`"}`))
		}
		if err := r.add(answers); err != nil {
			t.Fatal(err)
		}
		if err := r.close(true); err != nil {
			t.Fatal(err)
		}
		if said.String() != want+"\n" {
			t.Errorf("%s: it says %q, want %q", statuses, said.String(), want)
		}
	}
}

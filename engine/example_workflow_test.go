package engine_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
)

// The workflow that the execution model is described with runs as it is written: mails become
// events, each event one row, each row a downstream event.
func TestExampleWorkflow(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../sandbox/testdata/example.js")
	if err != nil {
		t.Fatal(err)
	}
	b := enginetest.New(t)
	gmail := enginetest.NewWorld("gmail").Offer(connector.Operation{Name: "search", Kind: connector.List})
	gmail.OnRead(func(connector.Call) (json.RawMessage, error) {
		return json.RawMessage(`[{"id":"m1","from":"alice@example.com","subject":"Invoice December"},` +
			`{"id":"m2","from":"bob@example.com","subject":"Lunch?"}]`), nil
	})
	sheets := enginetest.NewWorld("sheets").Offer(connector.Operation{Name: "appendRow", Kind: connector.Mutate,
		Reconciles: true})
	b.Others = []connector.Connector{gmail, sheets}
	e := b.Start()
	e.MustDeploy(string(source))
	s := e.Rest("example")
	if s.Blocked != nil || s.Maintenance != nil {
		t.Fatalf("blocked %+v, maintenance %+v", s.Blocked, s.Maintenance)
	}
	rows := sheets.Params()
	if len(rows) != 2 || len(sheets.Twice()) > 0 {
		t.Fatalf("rows: %s", rows)
	}
	if want := `{"spreadsheetId":"...","values":["alice@example.com","Invoice December"]}`; string(rows[0]) != want {
		t.Fatalf("first row %s, want %s", rows[0], want)
	}
	full := b.FullFold("example")
	for _, id := range []eventlog.MessageID{"m1", "m2"} {
		if ev := full.Event("email.received", id); ev == nil || ev.Status != eventlog.EventStatusConsumed {
			t.Fatalf("event %s: %+v", id, ev)
		}
	}
	// The author's row id rests on a field that the payload lacks, so both rows are one event (R11).
	row := full.Event("row.created", "row:undefined")
	if row == nil || row.Title != "Row created for bob@example.com" || len(row.CausedBy) != 1 {
		t.Fatalf("downstream event: %+v", row)
	}
}

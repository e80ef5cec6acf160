package ops

import (
	"testing"

	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// Evidence shows the operations that a run has called, each once and with its pinned schema, and no others.
func TestEvidenceShowsTheSchemasOfWhatWasCalled(t *testing.T) {
	t.Parallel()
	def := eventlog.Definition{Operations: []eventlog.Operation{
		{Connector: "http", Operation: "get", Kind: "get", Schema: []byte(`{"type":"object"}`)},
		{Connector: "http", Operation: "getAll", Kind: "list"},
		{Connector: "csv", Operation: "appendRow", Kind: "mutate", Schema: []byte(`{"type":"object","required":["file"]}`)},
	}}
	reads := []runlog.Line{{Text: `http.get({"url":"x"}) after 1ms: {}`}, {Text: `http.get({"url":"y"}) after 1ms: {}`}}
	used := operationsOf(&def, &readmodel.Mutation{Connector: "csv", Operation: "appendRow"}, reads)
	if len(used) != 2 || used[0].Operation != "http.get" || string(used[0].Params) != `{"type":"object"}` ||
		used[1].Kind != "mutate" || string(used[1].Params) != `{"type":"object","required":["file"]}` {
		t.Errorf("used %+v", used)
	}
	if used := operationsOf(&def, nil, nil); used == nil || len(used) != 0 {
		t.Errorf("nothing was called, and %+v is shown", used)
	}
}

// The line of a call that failed is that of the only call of its operation.
func TestEvidenceFindsTheLineOfACall(t *testing.T) {
	t.Parallel()
	m := &readmodel.Mutation{Connector: "csv", Operation: "appendRow"}
	const one = "a\nawait ctx.csv.appendRow({\n})\nctx.csv.appendRows()"
	if line := callLine(one, m); line != 2 {
		t.Errorf("line %d", line)
	}
	if line := callLine(one+"\nctx.csv.appendRow({})", m); line != 0 {
		t.Errorf("of two calls the one in line %d", line)
	}
}

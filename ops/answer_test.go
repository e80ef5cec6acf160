package ops

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// The hash of a mutation's parameters is over their bytes, so these are answered as they are recorded.
func TestParametersAreAnsweredAsRecorded(t *testing.T) {
	t.Parallel()
	const params = `{"z":"<a href=\"?b&c\">\u2028","a":1.0}`
	m := projections.Mutation{Call: eventlog.MutationCall{Params: json.RawMessage(params),
		ParamsHash: eventlog.HashOf([]byte(params)).String()}}
	body, err := rpc.EncodeAnswer(readmodel.MutationView("shop", &m, readmodel.Run{}))
	if err != nil {
		t.Fatal(err)
	}
	var answered struct {
		Params     json.RawMessage
		ParamsHash string
	}
	if err := json.Unmarshal(body, &answered); err != nil ||
		eventlog.HashOf(answered.Params).String() != answered.ParamsHash {
		t.Errorf("%v: %s", err, body)
	}
}

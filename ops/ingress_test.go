package ops

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// TestPushAnswers: an array for an array, an object for an object, and a repeat is an update.
func TestPushAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	path := "/v1/workflows/shop/topics/order.in/events"
	for _, c := range []struct{ body, want string }{
		{`{"messageId":"a","title":"A"}`, `{"messageId":"a","result":"created","status":"pending"}`},
		{`[{"messageId":"a","title":"A2"},{"messageId":"b\"","title":"B"}]`,
			`[{"messageId":"a","result":"updated","status":"pending"},{"messageId":"b\"",` +
				`"result":"created","status":"pending"}]`},
		{`[]`, `[]`},
	} {
		if res, body := b.request("POST", path, c.body); res.StatusCode != 200 || string(body) != c.want &&
			string(body) != c.want+"\n" {
			t.Errorf("%s: %d %s", c.body, res.StatusCode, body)
		}
	}
	var inputs readmodel.Page[readmodel.Input]
	b.do("listWorkflowInputs", map[string]any{"workflow": "shop", "q": "a2"}, &inputs)
	if len(inputs.Items) != 1 || inputs.Items[0].ExternalID != "a" || inputs.Items[0].Title != "A2" {
		t.Errorf("the input of an event that came again: %+v, want its newest title", inputs.Items)
	}
	if p := b.refused("pushEvents", map[string]any{"workflow": "shop", "topic": "order.in",
		"events": 7}); p.Code != "event.invalid" {
		t.Errorf("%+v", p)
	}
}

// A push that is nested too deep, or has a number that a script cannot pass on, is refused as a whole, in every part.
func TestPushThatScriptsCannotTake(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
	nested := func(levels int) string {
		return `{"messageId":"a","title":"A","payload":` + strings.Repeat(`[`, levels) + strings.Repeat(`]`, levels) + `}`
	}
	path := "/v1/workflows/shop/topics/order.in/events"
	res, body := b.request("POST", path, `[{"messageId":"b","title":"B"},`+nested(eventlog.MaxDepth+1)+`]`)
	if res.StatusCode != 422 || !strings.Contains(string(body), `"code":"json.tooDeep"`) ||
		!strings.Contains(string(body), "item 1 (a): its payload is nested too deep: JSON may have 512 levels") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	res, body = b.request("POST", path, `{"messageId":"c","title":"C","payload":{"change":1e999}}`)
	if res.StatusCode != 422 || !strings.Contains(string(body), `"code":"json.number"`) ||
		!strings.Contains(string(body), "item 0 (c): its payload has a number that is too large for scripts") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if res, body := b.request("POST", path, nested(eventlog.MaxDepth)); res.StatusCode != 200 {
		t.Errorf("as deep as may be: %d %s", res.StatusCode, body)
	}
	var events readmodel.Page[readmodel.Event]
	b.do("listWorkflowEvents", map[string]any{"workflow": "shop"}, &events)
	if len(events.Items) != 1 {
		t.Errorf("recorded: %+v", events.Items)
	}
}

// BenchmarkPush is the whole path of a push over HTTP: a paused workflow, its log in memory.
func BenchmarkPush(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := setup(b)
			s.deploy("shop", "send", eventlog.GrantAllow)
			s.do("pauseWorkflow", map[string]any{"workflow": "shop"}, nil)
			h := s.server.Handler()
			var id atomic.Int64
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				var body bytes.Buffer
				for pb.Next() {
					body.Reset()
					for i := range n {
						body.WriteByte("[,"[min(i, 1)])
						fmt.Fprintf(&body, `{"messageId":"m%d","title":"Order","payload":{"amount":12.5,"lines":[{"sku":"a","n":1}]}}`,
							id.Add(1))
					}
					body.WriteByte(']')
					req := httptest.NewRequest("POST", "http://localhost/v1/workflows/shop/topics/order.in/events",
						bytes.NewReader(body.Bytes()))
					req.Header.Set("Content-Type", "application/json")
					authorize(req)
					rec := httptest.NewRecorder()
					if h.ServeHTTP(rec, req); rec.Code != 200 {
						b.Fatalf("%d %s", rec.Code, rec.Body)
					}
				}
			})
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

package ops

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// What has recorded something says where that stands, and a read can ask for an answer that holds it.
func TestReadsAfterAPosition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	pushed, text := b.request("POST", "/v1/workflows/shop/topics/order.in/events",
		`{"messageId":"a","title":"A","payload":{}}`)
	at := pushed.Header.Get(PositionHeader)
	if p, err := eventlog.ParsePosition(at); pushed.StatusCode != http.StatusOK || err != nil || p.Seq == 0 {
		t.Fatalf("a push: %d, position %q (%v): %s", pushed.StatusCode, at, err, text)
	}
	if paused, _ := b.request("POST", "/v1/workflows/shop/pause", ""); paused.Header.Get(PositionHeader) == "" {
		t.Error("a pause says no position")
	}
	read, text := b.request("GET", "/v1/workflows/shop/events?limit=5&after="+at, "")
	if read.StatusCode != http.StatusOK || !strings.Contains(string(text), `"messageId":"a"`) {
		t.Errorf("a read after %s: %d %s", at, read.StatusCode, text)
	}
	if read.Header.Get(PositionHeader) != "" || read.Header.Get(LagHeader) != "" {
		t.Errorf("a read of an engine that is alone: %v", read.Header)
	}
	for query, want := range map[string]int{
		"after=": 400, "after=x": 400, "after=7:1": 400, "limit=5&after=0:1,0:2": 200, "after=1": 200, "atfer=1": 400,
	} {
		if res, text := b.request("GET", "/v1/workflows?"+query, ""); res.StatusCode != want {
			t.Errorf("%s: %d, want %d: %s", query, res.StatusCode, want, text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, "GET", "/v1/workflows?after=0:1000000", nil)
	req.Host = "127.0.0.1"
	authorize(req)
	rec := httptest.NewRecorder()
	b.server.Handler().ServeHTTP(rec, req)
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" {
		t.Errorf("what is not read in time: %d %s", rec.Code, rec.Body)
	}
}

// Over NATS the headers are Pawl-Position and Pawl-After: what has recorded something says where that stands, and a
// read waits for it.
func TestReadsAfterAPositionOverNATS(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	nc, _ := b.overNATS(1 << 20)
	send := func(subject, body, after string) *nats.Msg {
		t.Helper()
		request := &nats.Msg{Subject: subject, Data: []byte(body), Header: nats.Header{}}
		if after != "" {
			request.Header.Set("pawl-after", after) // clients differ in the case of names
		}
		answer, err := nc.RequestMsg(request, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	pushed := send("pawl.in.shop.order.in", `{"messageId":"a","title":"A","payload":{}}`, "")
	at := pushed.Header.Get(PositionHeader)
	if p, err := eventlog.ParsePosition(at); err != nil || p.Seq == 0 {
		t.Fatalf("a push says position %q (%v): %s", at, err, pushed.Data)
	}
	if paused := send("pawl.api.pauseWorkflow", `{"workflow":"shop"}`, ""); paused.Header.Get(PositionHeader) == "" {
		t.Errorf("a pause says no position: %v %s", paused.Header, paused.Data)
	}
	read := send("pawl.api.listEvents", `{"limit":5}`, at)
	if read.Header.Get(rpc.StatusHeader) != "200" || !strings.Contains(string(read.Data), `"messageId":"a"`) ||
		read.Header.Get(PositionHeader) != "" {
		t.Errorf("a read after %s: %v %s", at, read.Header, read.Data)
	}
	for _, c := range []struct{ operation, body, after, want string }{
		{"listEvents", `{}`, "x", "400"},
		{"listEvents", `{}`, "7:1", "400"},
		{"pauseWorkflow", `{"workflow":"shop"}`, at, "400"},
	} {
		if got := send("pawl.api."+c.operation, c.body, c.after); got.Header.Get(micro.ErrorCodeHeader) != c.want {
			t.Errorf("%s after %s: %v %s, want %s", c.operation, c.after, got.Header, got.Data, c.want)
		}
	}
}

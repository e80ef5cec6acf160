package ops

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
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

package hooks

import (
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
)

// announced is a body of which nothing but its length has come when its room is looked at.
type announced struct{ look func() }

func (a announced) Read([]byte) (int, error) {
	a.look()
	return 0, io.ErrUnexpectedEOF
}

// A sender takes room by what it sends: announcing large bodies keeps no other sender out.
func TestAnnouncedBodiesTakeNoRoom(t *testing.T) {
	t.Parallel()
	rc := New(Config{})
	rc.bodyTimeout = time.Minute
	for _, length := range []int64{hook.MaxBody, -1} {
		taken := 0
		r := httptest.NewRequest("POST", "/hooks/w/h", announced{func() { taken = rc.bodies.Taken() }})
		r.ContentLength = length
		_, leave, p := rc.read(httptest.NewRecorder(), r)
		leave()
		if p == nil || p.Code != "body.unreadable" || taken != firstRoom>>10 || rc.bodies.Taken() != 0 {
			t.Errorf("%d bytes announced: %v, took %d KiB, kept %d KiB", length, p, taken, rc.bodies.Taken())
		}
	}
}

// Only a secret makes a sender one that is known: the connections of a hook that verifies nothing give way as others.
func TestOnlyASecretMakesASenderKnown(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for name, r := range map[eventlog.HookName]*hook.Request{
		"open": at("/hooks/inbox/open?id=1"), "github": w.sample("github", "{}", ""),
	} {
		_, r.RawQuery, _ = strings.Cut(r.URL, "?")
		known := false
		if _, err := w.accept(t.Context(), "inbox", name, r, func() { known = true }); err != nil {
			t.Fatal(err)
		}
		if known != (name == "github") {
			t.Errorf("%s: known %t", name, known)
		}
	}
}

// Deliveries that come many at once and several times each: every one that is acknowledged is exactly one event.
func TestDeliveriesAreOneEventEach(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const deliveries, copies = 150, 3
	var requests []*hook.Request
	for n := range deliveries {
		requests = append(requests, w.sample("stripe", fmt.Sprintf(`{"id":"evt_%d","type":"charge","n":%d}`, n, n), ""))
	}
	before := w.last()
	statuses := make([][copies]int, deliveries)
	var senders sync.WaitGroup
	places := make(chan struct{}, 32)
	for n, r := range requests {
		for c := range copies {
			senders.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				res, _ := w.send(r)
				statuses[n][c] = res.StatusCode
			})
		}
	}
	senders.Wait()
	s, _ := w.engine.State("inbox")
	for n, got := range statuses {
		slices.Sort(got[:])
		if got != [copies]int{200, 200, 202} {
			t.Errorf("delivery %d was answered with %v", n, got)
		}
		id := eventlog.MessageID(fmt.Sprintf("evt_%d", n))
		if e := s.Event("in", id); e == nil || !strings.Contains(string(e.Payload), fmt.Sprintf(`"n":%d}`, n)) {
			t.Errorf("%s is not the event that was sent: %+v", id, e)
		}
	}
	published := map[eventlog.MessageID]int{}
	for r, err := range w.bench.Log.Read(t.Context(), 0, before+1) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Facts {
			if event, ok := f.(*eventlog.EventPublished); ok {
				published[event.MessageID]++
			}
		}
	}
	for id, times := range published {
		if times != 1 {
			t.Errorf("%s is in the log %d times", id, times)
		}
	}
	if len(published) != deliveries || w.bodies.Taken() != 0 {
		t.Errorf("%d events are in the log, %d KiB are still taken", len(published), w.bodies.Taken())
	}
}

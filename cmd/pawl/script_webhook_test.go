package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	webhooks "github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
)

// webhookSecret is what the receivers of scripts and tests verify with.
const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiver is a system that webhooks are posted to. It accepts what is signed, as long as it is to answer 200.
type receiver struct {
	mu       sync.Mutex
	status   int
	accepted []string // bodies
	ids      []string
	changed  chan struct{}
	refused  error // of what arrived whole and was not signed
}

func newReceiver() *receiver { return &receiver{status: http.StatusOK, changed: make(chan struct{})} }

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil { // the engine was killed while it sent
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	err = webhooks.Verify(eventlog.HookVerify{Scheme: webhooks.SchemeStandard}, []string{webhookSecret},
		&webhooks.Request{Method: req.Method, Header: req.Header, Body: body}, time.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	status := r.status
	if err != nil {
		r.refused, status = err, http.StatusUnauthorized
	}
	if status == http.StatusOK {
		r.accepted, r.ids = append(r.accepted, string(body)), append(r.ids, req.Header.Get("Webhook-Id"))
		close(r.changed)
		r.changed = make(chan struct{})
	}
	w.WriteHeader(status)
}

// wait waits until something that was accepted fits.
func (r *receiver) wait(fits func(bodies []string) bool, timeout time.Duration) bool {
	late := time.After(timeout)
	for {
		r.mu.Lock()
		done, changed := fits(r.accepted), r.changed
		r.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-late:
			return false
		}
	}
}

var receivers sync.Map // *testscript.TestScript → *receiver

// receive VARIABLE starts a receiver of webhooks and sets the variable to its address; receive STATUS is what it
// answers from then on.
func receive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: receive VARIABLE|STATUS")
	}
	if status, err := strconv.Atoi(args[0]); err == nil {
		found, ok := receivers.Load(ts)
		if !ok {
			ts.Fatalf("receive VARIABLE comes first")
		}
		r := found.(*receiver)
		r.mu.Lock()
		r.status = status
		r.mu.Unlock()
		return
	}
	r := newReceiver()
	server := httptest.NewServer(r)
	ts.Defer(server.Close)
	receivers.Store(ts, r)
	ts.Setenv(args[0], server.URL)
}

// received REGEXP waits until a webhook that fits was accepted; ! wants that none was.
func received(ts *testscript.TestScript, neg bool, args []string) {
	found, ok := receivers.Load(ts)
	if len(args) != 1 || !ok {
		ts.Fatalf("usage: receive VARIABLE, then [!] received REGEXP")
	}
	r := found.(*receiver)
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	fits := func(bodies []string) bool {
		for _, body := range bodies {
			if pattern.MatchString(body) {
				return true
			}
		}
		return false
	}
	if neg {
		r.mu.Lock()
		defer r.mu.Unlock()
		if fits(r.accepted) {
			ts.Fatalf("a webhook that fits %s was received", args[0])
		}
		return
	}
	if !r.wait(fits, longest) {
		r.mu.Lock()
		defer r.mu.Unlock()
		ts.Fatalf("no webhook that fits %s was received (%v):\n%s", args[0], r.refused, strings.Join(r.accepted, "\n"))
	}
}

// alerted NUMBER wants so many webhooks with ids of their own to have been accepted.
func alerted(ts *testscript.TestScript, neg bool, args []string) {
	found, ok := receivers.Load(ts)
	if neg || len(args) != 1 || !ok {
		ts.Fatalf("usage: receive VARIABLE, then alerted NUMBER")
	}
	r := found.(*receiver)
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := map[string]bool{}
	for _, id := range r.ids {
		ids[id] = true
	}
	if strconv.Itoa(len(ids)) != args[0] {
		ts.Fatalf("%d alerts were received, want %s:\n%s", len(ids), args[0], strings.Join(r.accepted, "\n"))
	}
}

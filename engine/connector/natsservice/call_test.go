package natsservice_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
	"github.com/pawl-run/pawl/eventlog"
)

const soon = 10 * time.Second

func TestARequestSaysWhatItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mail := w.start("mail", mutation("send"), described("search", "list"))
	w.await("mail.send", "mail.search")

	c := call("mail.send", "K1", soon, map[string]any{"to": "a"})
	c.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	if out := w.perform(c); out.Status != connector.Applied || string(out.Result) != `{"id":1}` {
		t.Fatalf("outcome %+v", out)
	}
	got := mail.seen()
	if got.Op != "send" || got.Data != `{"to":"a"}` {
		t.Errorf("tool saw %+v", got)
	}
	h := nats.Header(got.Header)
	for name, want := range map[string]string{"Pawl-Workflow": "orders", "Pawl-Run": "R1", "Idempotency-Key": "K1",
		"traceparent": c.Traceparent} {
		if h.Get(name) != want {
			t.Errorf("header %s is %q, want %q", name, h.Get(name), want)
		}
	}
	deadline, err := time.Parse(time.RFC3339Nano, h.Get("Pawl-Deadline"))
	if err != nil || !deadline.Equal(c.Deadline.Round(0)) {
		t.Errorf("deadline %q: %v, want %s", h.Get("Pawl-Deadline"), err, c.Deadline)
	}

	result, err := w.registry.Read(t.Context(), call("mail.search", "", soon, map[string]any{}))
	if err != nil || string(result) != `{"id":1}` {
		t.Errorf("read: %s, %v", result, err)
	}
	if h := nats.Header(mail.seen().Header); h.Get("Idempotency-Key") != "" {
		t.Error("a read has an idempotency key")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const result = `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`
	w.start("mail", mutation("send", "pawl.result", result), described("get", "get", "pawl.result", result),
		mutation("free"), described("find", "list"))
	w.await("mail.send", "mail.get", "mail.free", "mail.find")

	failed, uncertain, applied := connector.Failed, connector.Uncertain, connector.Applied
	cases := map[string]struct {
		wish   wish
		status connector.Status
		class  eventlog.Class
		code   string
		read   eventlog.Class // class of the read's failure; empty: it succeeds
	}{
		"applied": {wish{Do: "ok"}, applied, "", "", ""},
		"400":     {wish{Do: "error", Code: "400"}, failed, eventlog.Logic, "service.400", eventlog.Logic},
		"409":     {wish{Do: "error", Code: "409"}, failed, eventlog.Logic, "service.409", eventlog.Logic},
		"422":     {wish{Do: "error", Code: "422"}, failed, eventlog.Logic, "service.422", eventlog.Logic},
		"401":     {wish{Do: "error", Code: "401"}, failed, eventlog.Auth, "service.401", eventlog.Auth},
		"403":     {wish{Do: "error", Code: "403"}, failed, eventlog.Auth, "service.403", eventlog.Auth},
		"404": {wish{Do: "error", Code: "404"}, failed, eventlog.Precondition, "service.404",
			eventlog.Precondition},
		"410": {wish{Do: "error", Code: "410"}, failed, eventlog.Precondition, "service.410",
			eventlog.Precondition},
		"412": {wish{Do: "error", Code: "412"}, failed, eventlog.Precondition, "service.412",
			eventlog.Precondition},
		"429": {wish{Do: "error", Code: "429"}, failed, eventlog.Transient, "service.429",
			eventlog.Transient},
		"503": {wish{Do: "error", Code: "503"}, failed, eventlog.Transient, "service.503",
			eventlog.Transient},
		"500": {wish{Do: "error", Code: "500"}, uncertain, eventlog.Transient, "service.500",
			eventlog.Transient},
		"504": {wish{Do: "error", Code: "504"}, uncertain, eventlog.Transient, "service.504",
			eventlog.Transient},
		"502, not listed": {wish{Do: "error", Code: "502"}, uncertain, eventlog.Transient, "service.502",
			eventlog.Transient},
		"418, not listed": {wish{Do: "error", Code: "418"}, uncertain, eventlog.Internal, "service.418",
			eventlog.Internal},
		"no code": {wish{Do: "error"}, uncertain, eventlog.Internal, "service.error", eventlog.Internal},
		"no number": {wish{Do: "error", Code: "E_BAD"}, uncertain, eventlog.Internal, "service.error",
			eventlog.Internal},
		"lower case headers": {wish{Do: "error", Code: "422", Lower: true}, failed, eventlog.Logic, "service.422",
			eventlog.Logic},
		"500 but failed": {wish{Do: "error", Code: "500", Outcome: "failed"}, failed, eventlog.Transient,
			"service.500", eventlog.Transient},
		"no code but failed": {wish{Do: "error", Outcome: "failed"}, failed, eventlog.Internal, "service.error",
			eventlog.Internal},
		"422 but uncertain": {wish{Do: "error", Code: "422", Outcome: "uncertain"}, uncertain, eventlog.Logic,
			"service.422", eventlog.Logic},
		"unknown outcome": {wish{Do: "error", Code: "422", Outcome: "perhaps"}, uncertain, eventlog.Logic,
			"service.422", eventlog.Logic},
		"result, but failed": {wish{Do: "error", Raw: `{"id":1}`, Outcome: "failed"}, failed, eventlog.Internal,
			"service.error", ""},
		"result, uncertain": {wish{Do: "error", Raw: `{"id":1}`, Outcome: "uncertain"}, uncertain, eventlog.Internal,
			"service.error", ""},
		"garbage": {wish{Do: "raw", Raw: `{"id":`}, uncertain, eventlog.Internal, "connector.answer",
			eventlog.Internal},
		"breaks schema": {wish{Do: "raw", Raw: `{"id":"x"}`}, uncertain, eventlog.Internal, "service.result",
			eventlog.Internal},
		"empty": {wish{Do: "raw"}, uncertain, eventlog.Internal, "service.result", eventlog.Internal},
		"503 in words": {wish{Do: "error", Code: "503", Raw: "busy"}, failed, eventlog.Transient, "service.503",
			eventlog.Transient},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := w.perform(call("mail.send", "K-"+name, soon, tt.wish))
			wantOutcome(t, out, tt.status, tt.class, tt.code)
			if out.Answered != (tt.status == uncertain) {
				t.Errorf("answered: %v", out.Answered)
			}
			_, err := w.registry.Read(t.Context(), call("mail.get", "", soon, tt.wish))
			var failure *eventlog.Failure
			switch {
			case tt.read == "":
				if err != nil {
					t.Errorf("read: %v", err)
				}
			case !errors.As(err, &failure) || failure.Class != tt.read:
				t.Errorf("read: %v, want class %s", err, tt.read)
			}
		})
	}
	t.Run("no schema, empty", func(t *testing.T) {
		t.Parallel()
		if out := w.perform(call("mail.free", "K", soon, wish{Do: "raw"})); out.Status != connector.Applied ||
			string(out.Result) != "null" {
			t.Errorf("outcome %+v", out)
		}
	})
	t.Run("too big", func(t *testing.T) {
		t.Parallel()
		out := w.perform(call("mail.send", "K-big", soon, wish{Do: "big", Size: 2 << 20}))
		if out.Status != connector.Applied || !strings.HasPrefix(string(out.Result), `{"truncated":true,"bytes":2097`) {
			t.Errorf("outcome %.100s %v", out.Result, out.Failure)
		}
		_, err := w.registry.Read(t.Context(), call("mail.find", "", soon, wish{Do: "big", Size: 2 << 20}))
		var failure *eventlog.Failure
		if !errors.As(err, &failure) || failure.Code != "limit.read" {
			t.Errorf("read: %v", err)
		}
	})
	t.Run("parameters too big", func(t *testing.T) {
		t.Parallel()
		out := w.perform(call("mail.free", "K-params", soon, wish{Raw: strings.Repeat("x", 9<<20)}))
		wantOutcome(t, out, connector.Failed, eventlog.Logic, "service.tooBig")
	})
}

// TestF13_RetryAfter: a service that answers 429 or 503 may say when to come again, also where the outcome stays open.
func TestF13_RetryAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("mail", mutation("send"), described("get", "get"))
	w.await("mail.send", "mail.get")
	for name, tt := range map[string]struct {
		wish wish
		want time.Duration
	}{
		"429":                {wish{Code: "429", Retry: "20"}, 20 * time.Second},
		"503":                {wish{Code: "503", Retry: "20"}, 20 * time.Second},
		"503, but uncertain": {wish{Code: "503", Retry: "20", Outcome: "uncertain"}, 20 * time.Second},
		"more than an hour":  {wish{Code: "503", Retry: "7200"}, time.Hour},
		"a date":             {wish{Code: "503", Retry: "Fri, 31 Dec 2099 23:00:00 GMT"}, 0},
		"no wish":            {wish{Code: "503"}, 0},
		"another error":      {wish{Code: "500", Retry: "20", Outcome: "failed"}, 0},
		"a refusal for good": {wish{Code: "422", Retry: "20"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.wish.Do = "error"
			_, err := w.registry.Read(t.Context(), call("mail.get", "", soon, tt.wish))
			var failure *eventlog.Failure
			if !errors.As(err, &failure) || failure.RetryAfter != tt.want {
				t.Errorf("read: %+v, want to come again after %s", failure, tt.want)
			}
			if out := w.perform(call("mail.send", "K-"+name, soon, tt.wish)); out.Failure == nil ||
				out.Failure.RetryAfter != tt.want {
				t.Errorf("mutation: %+v, want to come again after %s", out.Failure, tt.want)
			}
		})
	}
}

// TestF4_TheGateIsAskedLast: what has taken the right to send away in the meantime keeps the request here.
func TestF4_TheGateIsAskedLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mail := w.start("mail", mutation("send"))
	w.await("mail.send")
	c := call("mail.send", "K1", soon, wish{})
	asked := 0
	c.Gate = func() *eventlog.Failure {
		if asked++; asked == 1 {
			return nil // before the connector was called
		}
		return connector.Failf(eventlog.Transient, "test.taken", "another engine has taken over")
	}
	wantOutcome(t, w.perform(c), connector.Failed, eventlog.Transient, "test.taken")
	wantOutcome(t, w.perform(call("mail.send", "K2", soon, wish{})), connector.Applied, "", "")
	if key := nats.Header(mail.seen().Header).Get("Idempotency-Key"); key != "K2" || asked != 2 {
		t.Errorf("the tool got %s first, and the gate was asked %d times", key, asked)
	}
}

func TestDiesWhileAMutationIsOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mail := w.start("mail", mutation("send"))
	w.await("mail.send")
	done := make(chan connector.Outcome, 1)
	go func() { done <- w.perform(call("mail.send", "K1", time.Second, wish{Do: "hold"})) }()
	mail.seen()
	mail.kill()
	wantOutcome(t, <-done, connector.Uncertain, eventlog.Transient, "call.timeout")

	// Still known, but gone: no service receives the call, so that is definite.
	out := w.perform(call("mail.send", "K2", soon, wish{}))
	wantOutcome(t, out, connector.Failed, eventlog.Transient, "service.absent")
	w.refresh()
	out = w.perform(call("mail.send", "K3", soon, wish{}))
	wantOutcome(t, out, connector.Failed, eventlog.Transient, "connector.unknown")
	if !w.logged.has("a connector is gone") {
		t.Error("the log does not say that the connector is gone")
	}

	mail = w.start("mail", mutation("send"))
	w.await("mail.send")
	wantOutcome(t, w.perform(call("mail.send", "K4", soon, wish{})), connector.Applied, "", "")
	if key := nats.Header(mail.seen().Header).Get("Idempotency-Key"); key != "K4" {
		t.Errorf("the new instance got %s first", key)
	}
}

func TestAReplyAfterTheDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *world, c *natsservice.Config) { c.MaxListening = 1 })
	late := make(chan string, 2)
	w.registry.OnLate(func(c connector.Call, out connector.Outcome) {
		late <- c.Key + " " + string(out.Result)
	})
	mail := w.start("mail", mutation("send"))
	w.await("mail.send")
	wantOutcome(t, w.perform(call("mail.send", "K1", 200*time.Millisecond, wish{Do: "hold"})), connector.Uncertain,
		eventlog.Transient, "call.timeout")
	// Only one may listen on here: the older one is given up.
	wantOutcome(t, w.perform(call("mail.send", "K2", 200*time.Millisecond, wish{Do: "hold"})), connector.Uncertain,
		eventlog.Transient, "call.timeout")
	if got := <-late; got != "K1 " {
		t.Errorf("late: %s, want the first call's end without an answer", got)
	}
	mail.seen()
	mail.seen()
	mail.release()
	if got := <-late; got != `K2 {"id":2}` {
		t.Errorf("late: %s", got)
	}
	// The slot is free again.
	wantOutcome(t, w.perform(call("mail.send", "K3", 200*time.Millisecond, wish{Do: "hold"})), connector.Uncertain,
		eventlog.Transient, "call.timeout")
	mail.seen()
	mail.release()
	if got := <-late; got != `K3 {"id":2}` {
		t.Errorf("late: %s", got)
	}
}

func TestAReadTimesOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("mail", described("get", "get", "pawl.timeout", "150ms"))
	w.await("mail.get")
	_, err := w.registry.Read(t.Context(), call("mail.get", "", soon, wish{Do: "hold"}))
	var failure *eventlog.Failure
	if !errors.As(err, &failure) || failure.Class != eventlog.Transient || failure.Code != "call.timeout" {
		t.Errorf("read: %v", err)
	}
}

// The line breaks while a mutation is open and comes back when its deadline is over: the tool has
// got the request once or never, and never later.
func TestTheLineBreaks(t *testing.T) {
	t.Parallel()
	var p *proxy
	events := make(chan string, 1000)
	w := newWorld(t, func(w *world, c *natsservice.Config) {
		p = newProxy(t, w.server.ClientURL())
		c.Connect = through(p, w.users["engine"], events)
	})
	late := make(chan string, 1)
	w.registry.OnLate(func(c connector.Call, out connector.Outcome) { late <- c.Key })
	mail := w.start("mail", mutation("send"), described("get", "get"))
	w.await("mail.send", "mail.get")

	// The tool has the request; the line breaks before its answer.
	done := make(chan connector.Outcome, 1)
	go func() { done <- w.perform(call("mail.send", "K1", time.Second, wish{Do: "hold"})) }()
	read := make(chan error, 1)
	go func() {
		_, err := w.registry.Read(t.Context(), call("mail.get", "", time.Minute, wish{Do: "hold"}))
		read <- err
	}()
	mail.seen()
	mail.seen()
	p.cut()
	waitFor(t, events, nats.RECONNECTING.String())
	var failure *eventlog.Failure
	if err := <-read; !errors.As(err, &failure) || failure.Class != eventlog.Transient ||
		failure.Code != natsservice.CodeDisconnected {
		t.Errorf("read: %v", err)
	}
	// While the line is down nothing is sent, and nothing is kept to be sent later.
	for range 3 {
		wantOutcome(t, w.perform(call("mail.send", "K2", time.Second, wish{})), connector.Failed, eventlog.Transient,
			natsservice.CodeDisconnected)
	}
	wantOutcome(t, <-done, connector.Uncertain, eventlog.Transient, "call.timeout")
	p.restore()
	waitFor(t, events, nats.CONNECTED.String())
	wantOutcome(t, w.perform(call("mail.send", "K3", soon, wish{})), connector.Applied, "", "")
	if keys := mail.keysUntil("K3"); len(keys) != 1 || keys["K3"] != 1 {
		t.Errorf("after the line came back the tool got %v", keys)
	}
	// The answer to the first one still arrives, over the new connection.
	mail.release()
	if key := <-late; key != "K1" {
		t.Errorf("late reply to %s", key)
	}

	// The network swallows the request.
	p.swallows()
	go func() { done <- w.perform(call("mail.send", "K4", time.Second, wish{})) }()
	<-p.dropped
	p.cut()
	wantOutcome(t, <-done, connector.Uncertain, eventlog.Transient, "call.timeout")
	waitFor(t, events, nats.RECONNECTING.String())
	p.restore()
	waitFor(t, events, nats.CONNECTED.String())
	wantOutcome(t, w.perform(call("mail.send", "K5", soon, wish{})), connector.Applied, "", "")
	if keys := mail.keysUntil("K5"); len(keys) != 1 || keys["K5"] != 1 {
		t.Errorf("after the line came back the tool got %v", keys)
	}
}

func TestAConnectionThatKeepsRequestsIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	registry, err := connector.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	_, err = natsservice.New(natsservice.Config{
		Registry: registry,
		Connect:  func(...nats.Option) (*nats.Conn, error) { return w.server.Connect() },
	})
	if err == nil || !strings.Contains(err.Error(), "must apply the options") {
		t.Errorf("a buffering connection: %v", err)
	}
}

package natsservice_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/engine/connector"
)

// wireBlock is what CONNECTORS.md shows of the messages.
func wireBlock(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../CONNECTORS.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?ms)^```(?:json|text) wire " + name + "\n(.*?)^```$").FindSubmatch(page)
	if m == nil {
		t.Fatalf("the page shows no message %q", name)
	}
	return string(m[1])
}

// headers are the lines `Name: value` of a block up to an empty one; body is what follows.
func headers(t *testing.T, block string) (header nats.Header, body string) {
	t.Helper()
	head, body, _ := strings.Cut(block, "\n\n")
	header = nats.Header{}
	for line := range strings.Lines(head) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			t.Fatalf("no header: %q", line)
		}
		header.Set(name, value)
	}
	return header, strings.TrimSpace(body)
}

// A client that knows nothing of the micro protocol and says what the page shows is a connector, and
// gets the messages that the page shows.
func TestMessagesOfThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nc, err := nats.Connect(w.connectorURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	answers := make(chan *nats.Msg, 1)
	seen := make(chan *nats.Msg, 1)
	on := func(subject, queue string, answer func(*nats.Msg) *nats.Msg) {
		t.Helper()
		handle := func(m *nats.Msg) { _ = m.RespondMsg(answer(m)) }
		if _, err := nc.QueueSubscribe(subject, queue, handle); err != nil {
			t.Fatal(err)
		}
	}
	for i, subject := range []string{"$SRV.INFO", "$SRV.INFO.counter", "$SRV.INFO.counter.A1"} {
		queue := "info" + string(rune('0'+i)) // one instance: each question once
		on(subject, queue, func(*nats.Msg) *nats.Msg { return &nats.Msg{Data: []byte(wireBlock(t, "info"))} })
	}
	for _, endpoint := range []string{"add", "added"} {
		on("pawl.tool.counter."+endpoint, "q", func(m *nats.Msg) *nats.Msg {
			seen <- m
			return <-answers
		})
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	w.await("counter.add")

	header, body := headers(t, wireBlock(t, "request"))
	c := call("counter.add", "K1", soon, json.RawMessage(body))
	answers <- &nats.Msg{Data: []byte(wireBlock(t, "answer"))}
	out := w.perform(c)
	if out.Status != connector.Applied || !same(t, string(out.Result), wireBlock(t, "answer")) {
		t.Errorf("the answer is taken as %+v", out)
	}
	got := <-seen
	if !same(t, string(got.Data), body) {
		t.Errorf("the request is %s, the page shows %s", got.Data, body)
	}
	if _, err := time.Parse(time.RFC3339Nano, got.Header.Get("Pawl-Deadline")); err != nil {
		t.Error(err)
	}
	got.Header.Set("Pawl-Deadline", header.Get("Pawl-Deadline"))
	if !reflect.DeepEqual(got.Header, header) {
		t.Errorf("the request has %v, the page shows %v", got.Header, header)
	}

	answers <- &nats.Msg{Data: []byte(wireBlock(t, "finding"))}
	found := w.registry.Reconcile(t.Context(), c)
	if found.Verdict != connector.VerdictApplied || !same(t, string(found.Result), `{"total": 2}`) {
		t.Errorf("the finding is taken as %+v", found)
	}
	started := regexp.MustCompile(`"startedAt": ?"[^"]+"`)
	question := started.ReplaceAllString(string((<-seen).Data), `"startedAt": ""`)
	if !same(t, question, started.ReplaceAllString(wireBlock(t, "question"), `"startedAt": ""`)) {
		t.Errorf("the question is %s", question)
	}

	refusal, text := headers(t, wireBlock(t, "refusal"))
	answers <- &nats.Msg{Header: refusal, Data: []byte(text)}
	out = w.perform(call("counter.add", "K2", soon, json.RawMessage(body)))
	<-seen
	if out.Status != connector.Failed || out.Failure.Code != "service.409" ||
		!strings.Contains(out.Failure.Message, "given up") {
		t.Errorf("the refusal is taken as %+v, %+v", out, out.Failure)
	}
}

// same compares two JSON texts.
func same(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatalf("%v: %s", err, a)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return reflect.DeepEqual(x, y)
}

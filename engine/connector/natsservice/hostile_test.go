package natsservice_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/natsservice"
)

// A user that may serve one tool may claim to be any tool.
func TestNonsenseHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("mail", mutation("send"))
	other := w.outsider()
	described := func(name, id, endpoints string) string {
		return fmt.Sprintf(`{"name":%q,"id":%q,"version":"1.0.0","type":"io.nats.micro.v1.info_response","endpoints":%s}`,
			name, id, endpoints)
	}
	endpoint := func(name, subject, meta string) string {
		return fmt.Sprintf(`{"name":%q,"subject":%q,"queue_group":"q","metadata":%s}`, name, subject, meta)
	}
	deep := strings.Repeat(`{"properties":{"x":`, 5000) + `{}` + strings.Repeat(`}}`, 5000)
	for _, text := range []string{
		``, `nonsense`, `null`, `[]`, `{}`, `{"name":1}`, described("a b", "X", "[]"), described("fax", "*", "[]"),
		described("fax", "", "null"),
		described("fax", "1", "["+endpoint("send", "", `{"pawl.kind":"mutate"}`)+"]"),
		described("fax", "2", "["+endpoint("", "pawl.tool.fax.", `{"pawl.kind":"mutate"}`)+"]"),
		described("fax", "3", "["+endpoint("get", "pawl.tool.fax.get",
			`{"pawl.kind":"get","pawl.schema":"{\"$ref\":\"file:///etc/passwd\"}"}`)+"]"),
		described("fax", "4", "["+endpoint("deep", "pawl.tool.fax.deep",
			fmt.Sprintf(`{"pawl.kind":"get","pawl.schema":%q}`, deep))+"]"),
		described("fax", "5", "["+endpoint("long", "pawl.tool.fax.long", `{"pawl.kind":"get","pawl.timeout":"9999h"}`)+
			"]"),
		described("fax", "6", "["+endpoint("good", "pawl.tool.fax.good", `{"pawl.kind":"get"}`)+"]"),
	} {
		if _, err := other.Subscribe("$SRV.INFO", func(m *nats.Msg) { _ = m.Respond([]byte(text)) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Flush(); err != nil {
		t.Fatal(err)
	}
	w.await("mail.send", "fax.good")
	wantOutcome(t, w.perform(call("mail.send", "K", soon, wish{})), connector.Applied, "", "")
	for _, operation := range []string{"send", "get", "long"} {
		if w.has("fax", operation) {
			t.Errorf("fax.%s is offered", operation)
		}
	}
	if r, ok := w.refusal("fax", "get"); !ok || !strings.Contains(r.Reason, "may only refer to itself") {
		t.Errorf("refused %t: %s", ok, r.Reason)
	}
}

// The answer of a user that may serve a tool is bounded: the other tools are there all the same.
func TestAFloodOfAnswersIsCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *world, c *natsservice.Config) { c.Quiet = time.Minute })
	w.start("mail", mutation("send"))
	w.await("mail.send")
	other := w.outsider()
	// Nothing in it is worth parsing: an answer that takes long to read comes after the round that it belongs to.
	answer := []byte(strings.Repeat("x", 1<<20-200))
	if _, err := other.Subscribe("$SRV.INFO", func(m *nats.Msg) {
		for range 20 {
			_ = m.Respond(answer)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := other.Flush(); err != nil {
		t.Fatal(err)
	}
	// A look ends after two seconds; a machine that has no time may not bring the whole flood into one.
	for n := 0; !w.logged.has("more than the 16777216 bytes that are read"); n++ {
		if n == 20 {
			t.Fatal("the flood was not refused")
		}
		w.refresh()
	}
	w.await("mail.send")
}

// An instance that the server knows and that does not answer is not given up at once.
func TestASlowInstanceIsKeptForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.outsider()
	w.start("mail", mutation("send")) // a service that answers, so that a look is short
	var silent atomic.Bool
	const info = `{"name":"fax","id":"A","version":"1.0.0","type":"io.nats.micro.v1.info_response",` +
		`"endpoints":[{"name":"send","subject":"pawl.tool.fax.send","queue_group":"q","metadata":{"pawl.kind":"get"}}]}`
	for _, subject := range []string{"$SRV.INFO", "$SRV.INFO.fax.A"} {
		if _, err := other.Subscribe(subject, func(m *nats.Msg) {
			if !silent.Load() {
				_ = m.Respond([]byte(info))
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	w.await("fax.send")
	silent.Store(true)
	for range 2 {
		w.refresh()
		if !w.has("fax", "send") {
			t.Fatal("given up too soon")
		}
	}
	w.refresh()
	if w.has("fax", "send") || !w.logged.has("taken for gone") {
		t.Error("never given up")
	}
}

// An engine may start before the server that its tools are on.
func TestTheServerComesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := newProxy(t, w.server.ClientURL())
	p.cut()
	registry, err := connector.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 100)
	watcher, err := natsservice.New(natsservice.Config{Connect: through(p, w.users["engine"], events),
		Registry: registry, Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	if err := watcher.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "not connected") {
		t.Errorf("refresh: %v", err)
	}
	w.start("mail", mutation("send"))
	p.restore()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := watcher.Await(ctx, "mail.send"); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, registry.Perform(ctx, call("mail.send", "K", soon, wish{})), connector.Applied, "", "")
}

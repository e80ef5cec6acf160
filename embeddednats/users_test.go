package embeddednats_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// site is a server with the three users, and the engine's own connection to it.
type site struct {
	t      *testing.T
	dir    string
	server *embeddednats.Server
	engine *nats.Conn
	js     jetstream.JetStream
}

// serve starts the server, with the users of the folder.
func (s *site) serve() {
	s.t.Helper()
	users, err := embeddednats.Users(s.dir, "", 1)
	if err != nil {
		s.t.Fatal(err)
	}
	s.server = natstest.NewServer(s.t, natstest.Fast, func(c *embeddednats.Config) {
		c.ListenAddr, c.Users = "127.0.0.1:0", users
	})
	if err := s.server.WriteURLs(s.dir); err != nil {
		s.t.Fatal(err)
	}
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: filepath.Join(t.TempDir(), "nats")}
	s.serve()
	s.engine = natstest.Connect(t, s.server)
	var err error
	if s.js, err = jetstream.New(s.engine); err != nil {
		t.Fatal(err)
	}
	for name, subjects := range map[string]string{"PAWL_LOG_0": "pawl.log.0.>", "PAWL_FEED": "pawl.feed.>",
		"PAWL_RUNLOG": "pawl.runlog.>"} {
		if _, err := s.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subjects},
			AllowDirect: true}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		for _, subject := range []string{"pawl.log.0.w.run.prepared", "pawl.feed.w.run.prepared", "pawl.runlog.w"} {
			if _, err := s.js.Publish(t.Context(), subject, fmt.Appendf(nil, `{"n":%d}`, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// opened is an in-process connection of the engine's.
func opened(t *testing.T, connect func(...nats.Option) (*nats.Conn, error)) *nats.Conn {
	t.Helper()
	nc, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// user is the connection of one NATS user, and what the server refused it.
type user struct {
	*nats.Conn
	t      *testing.T
	denied chan error
}

func (s *site) as(name string) user {
	s.t.Helper()
	address, err := os.ReadFile(filepath.Join(s.dir, name+".url"))
	if err != nil {
		s.t.Fatal(err)
	}
	u := user{t: s.t, denied: make(chan error, 100)}
	u.Conn, err = nats.Connect(strings.TrimSpace(string(address)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { u.denied <- err }))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(u.Close)
	return u
}

// refused waits until the server has refused something that has to do with subject.
func (u user) refused(subject string) {
	u.t.Helper()
	select {
	case err := <-u.denied:
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), `"`+subject+`"`) {
			u.t.Errorf("%s: %v", subject, err)
		}
	case <-time.After(10 * time.Second):
		u.t.Errorf("%s is allowed", subject)
	}
}

func (u user) mayNotPublish(subjects ...string) {
	u.t.Helper()
	for _, subject := range subjects {
		if err := u.Publish(subject, []byte(`{}`)); err != nil {
			u.t.Fatal(err)
		}
		u.refused(subject)
	}
}

func (u user) mayNotSubscribe(subjects ...string) {
	u.t.Helper()
	for _, subject := range subjects {
		if _, err := u.SubscribeSync(subject); err != nil {
			u.t.Fatal(err)
		}
		u.refused(subject)
	}
}

var everywhere = []string{
	"pawl.log.0.w.run.prepared", "pawl.feed.w.run.prepared", "pawl.in.w.t", "pawl.api.workflows", "pawl.own.0",
	"pawl.tool.mail.send",
	"$JS.API.STREAM.DELETE.PAWL_LOG_0", "$JS.API.STREAM.NAMES", "$KV.PAWL_LEASES.0", "$SYS.REQ.SERVER.PING",
	"$SYS.REQ.USER.INFO", "_INBOX_pawl.x", "$PAWL.GATE.CONSUMER.CREATE.PAWL_FEED",
}

func TestConnectorsServeAndAnswerOnly(t *testing.T) {
	s := newSite(t)
	u := s.as(embeddednats.Connector)
	answer := func(m *nats.Msg) { _ = m.Respond([]byte("answer")) }
	for _, subject := range []string{"pawl.tool.mail.send", "$SRV.INFO"} {
		if _, err := u.QueueSubscribe(subject, "q", answer); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.Flush(); err != nil {
		t.Fatal(err)
	}
	calls := opened(t, s.server.ConnectConnectors)
	for _, subject := range []string{"pawl.tool.mail.send", "$SRV.INFO"} {
		if m, err := calls.Request(subject, nil, 10*time.Second); err != nil || string(m.Data) != "answer" {
			t.Errorf("%s: %v", subject, err)
		}
	}
	u.mayNotPublish(everywhere...)
	u.mayNotSubscribe(">", "pawl.>", "pawl.log.>", "pawl.in.>", "pawl.api.>", "_INBOX.>", "_INBOX_pawl.>", "$JS.API.>",
		"$KV.>")
	// Without a queue group it would read along.
	u.mayNotSubscribe("pawl.tool.>", "pawl.tool.mail.send")
}

func TestSubscribersReadLogAndFeed(t *testing.T) {
	s := newSite(t)
	u := s.as(embeddednats.Subscriber)
	js, err := jetstream.New(u.Conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"PAWL_LOG_0", "PAWL_FEED"} {
		stream, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if info := stream.CachedInfo(); info.State.Msgs != 5 {
			t.Errorf("%s has %d messages", name, info.State.Msgs)
		}
		if m, err := stream.GetMsg(t.Context(), 3); err != nil || string(m.Data) != `{"n":2}` {
			t.Errorf("%s: get: %v", name, err)
		}
		ordered, err := stream.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			m, err := ordered.Next(jetstream.FetchMaxWait(10 * time.Second))
			if err != nil {
				t.Fatalf("%s: message %d: %v", name, i, err)
			}
			meta, err := m.Metadata()
			if err != nil || string(m.Data()) != fmt.Sprintf(`{"n":%d}`, i) || meta.Sequence.Stream != uint64(i+1) ||
				!strings.HasPrefix(m.Subject(), "pawl.") {
				t.Errorf("%s: message %d on %s: %s, %v", name, i, m.Subject(), m.Data(), err)
			}
		}
		pull, err := stream.CreateConsumer(t.Context(),
			jetstream.ConsumerConfig{Durable: "mine", FilterSubject: subjectOf(name), AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Fatal(err)
		}
		batch, err := pull.Fetch(5, jetstream.FetchMaxWait(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for m := range batch.Messages() {
			if err := m.DoubleAck(t.Context()); err != nil {
				t.Errorf("%s: ack: %v", name, err)
			}
			got++
		}
		if info, err := pull.Info(t.Context()); got != 5 || err != nil || info.AckFloor.Stream != 5 {
			t.Errorf("%s: %d fetched, %+v, %v", name, got, info, err)
		}
	}
	// Programs look for streams, and find those that are for readers.
	for subject, want := range map[string]string{"": "[PAWL_FEED PAWL_LOG_0]", "pawl.feed.w.>": "[PAWL_FEED]",
		"pawl.>": "[PAWL_FEED PAWL_LOG_0]", "pawl.runlog.w": "[]"} {
		var names []string
		list := js.StreamNames(t.Context(), jetstream.WithStreamListSubject(subject))
		for name := range list.Name() {
			names = append(names, name)
		}
		if list.Err() != nil || fmt.Sprint(names) != want {
			t.Errorf("%q: streams %v, want %s; %v", subject, names, want, list.Err())
		}
		names = nil
		infos := js.ListStreams(t.Context(), jetstream.WithStreamListSubject(subject))
		for info := range infos.Info() {
			names = append(names, info.Config.Name)
			if info.State.Msgs != 5 {
				t.Errorf("%s has %d messages", info.Config.Name, info.State.Msgs)
			}
		}
		if infos.Err() != nil || fmt.Sprint(names) != want {
			t.Errorf("%q: streams %v, want %s; %v", subject, names, want, infos.Err())
		}
	}
	stream, err := js.Stream(t.Context(), "PAWL_FEED")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for name := range stream.ConsumerNames(t.Context()).Name() {
		found = found || name == "mine"
	}
	if !found {
		t.Error("its consumer is not in the list")
	}
	select {
	case err := <-u.denied:
		t.Errorf("a reader was refused something: %v", err)
	default:
	}
}

func subjectOf(stream string) string {
	if stream == "PAWL_FEED" {
		return "pawl.feed.>"
	}
	return "pawl.log.0.>"
}

// Nothing that a reader sends may reach the engine or a tool, not even the answer to a question it
// is allowed to ask, nor what a consumer delivers.
func TestSubscribersReachNothing(t *testing.T) {
	s := newSite(t)
	u := s.as(embeddednats.Subscriber)
	reached, err := s.engine.SubscribeSync("pawl.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.engine.Flush(); err != nil {
		t.Fatal(err)
	}
	u.mayNotPublish("pawl.log.0.w.run.prepared", "pawl.feed.w.run.prepared", "pawl.in.w.t", "pawl.api.workflows",
		"pawl.tool.mail.send", "$PAWL.GATE.CONSUMER.CREATE.PAWL_FEED", "$PAWL.GATE.STREAM.LIST.subscriber",
		"$KV.PAWL_LEASES.0")
	u.mayNotSubscribe("pawl.>", "pawl.in.>", "_INBOX_pawl.>", "$PAWL.>", "$KV.>")

	// JetStream requests that write, and streams that are not to be read: no server answers.
	for _, subject := range []string{
		"$JS.API.STREAM.DELETE.PAWL_LOG_0", "$JS.API.STREAM.PURGE.PAWL_LOG_0", "$JS.API.STREAM.UPDATE.PAWL_LOG_0",
		"$JS.API.STREAM.MSG.DELETE.PAWL_LOG_0",
		"$JS.API.CONSUMER.DELETE.PAWL_LOG_0.x", "$JS.API.CONSUMER.DURABLE.CREATE.PAWL_LOG_0.x", "$JS.API.STREAM.CREATE.X",
		"$JS.API.STREAM.RESTORE.X",
		"$JS.API.STREAM.INFO.PAWL_RUNLOG", "$JS.API.CONSUMER.CREATE.PAWL_RUNLOG.x", "$JS.API.DIRECT.GET.PAWL_RUNLOG",
		"$JS.API.CONSUMER.NAMES.PAWL_RUNLOG", "$JS.API.CONSUMER.LIST.PAWL_RUNLOG", "$JS.API.INFO",
	} {
		if m, err := u.Request(subject, []byte(`{}`), 10*time.Second); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s: %s, %v", subject, text(m), err)
		}
	}
	push := func(field, subject string) []byte {
		return fmt.Appendf(nil, `{"stream_name":"PAWL_FEED","config":{"name":"evil","ack_policy":"none","%s":"%s"}}`, field,
			subject)
	}
	for _, field := range []string{"deliver_subject", "Deliver_Subject", "DELIVER_SUBJECT"} {
		m, err := u.Request("$JS.API.CONSUMER.CREATE.PAWL_FEED.evil", push(field, "pawl.in.w.t"), 10*time.Second)
		if err != nil || !strings.Contains(string(m.Data), "only have pull consumers") {
			t.Errorf("%s: %s, %v", field, text(m), err)
		}
	}
	m, err := u.Request("$JS.API.CONSUMER.CREATE.PAWL_FEED.evil",
		[]byte(`{"stream_name":"PAWL_RUNLOG","config":{"name":"evil"}}`), 10*time.Second)
	if err != nil || !strings.Contains(string(m.Data), "its subject PAWL_FEED") {
		t.Errorf("another stream: %s, %v", text(m), err)
	}
	for _, subject := range []string{"$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES"} {
		for _, data := range []string{"no JSON", `{"subject":"` + strings.Repeat("x", 100_000) + `"}`} {
			if m, err := u.Request(subject, []byte(data), 10*time.Second); err != nil || !isProblem(m.Data) {
				t.Errorf("%s: %s, %v", subject, text(m), err)
			}
		}
	}
	// A consumer of the engine's is not changed.
	if _, err := s.js.CreateConsumer(t.Context(), "PAWL_FEED",
		jetstream.ConsumerConfig{Durable: "engine", FilterSubject: "pawl.feed.>"}); err != nil {
		t.Fatal(err)
	}
	m, err = u.Request("$JS.API.CONSUMER.CREATE.PAWL_FEED.engine",
		[]byte(`{"stream_name":"PAWL_FEED","action":"update",`+
			`"config":{"durable_name":"engine","name":"engine","ack_policy":"explicit","filter_subject":"pawl.feed.x"}}`),
		10*time.Second)
	if err != nil || !isProblem(m.Data) {
		t.Errorf("update: %s, %v", text(m), err)
	}

	// Allowed questions, with the answer directed elsewhere.
	if _, err := u.Request("$JS.API.CONSUMER.CREATE.PAWL_FEED.pull",
		[]byte(`{"stream_name":"PAWL_FEED","config":{"name":"pull","ack_policy":"none"}}`), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	for subject, data := range map[string]string{
		"$JS.API.STREAM.INFO.PAWL_FEED": "", "$JS.API.STREAM.LIST": "", "$JS.API.STREAM.NAMES": "{}",
		"$JS.API.CONSUMER.LIST.PAWL_FEED": "", "$JS.API.CONSUMER.MSG.NEXT.PAWL_FEED.pull": "1",
		"$JS.API.DIRECT.GET.PAWL_FEED": `{"seq":1}`,
		"$JS.API.CONSUMER.CREATE.PAWL_FEED.other": `{"stream_name":"PAWL_FEED",` +
			`"config":{"name":"other","ack_policy":"none"}}`,
	} {
		if err := u.PublishRequest(subject, "pawl.in.w.t", []byte(data)); err != nil {
			t.Fatal(err)
		}
		// Asked again in earnest: when this is answered, that was too.
		if m, err := u.Request(subject, []byte(data), 10*time.Second); err != nil || isProblem(m.Data) {
			t.Errorf("%s: %s, %v", subject, text(m), err)
		}
	}
	if err := s.engine.Publish("pawl.last", nil); err != nil {
		t.Fatal(err)
	}
	if m, err := reached.NextMsg(10 * time.Second); err != nil || m.Subject != "pawl.last" {
		t.Errorf("reached: %s, %v", text(m), err)
	}
}

// text is what an answer says.
func text(m *nats.Msg) string {
	if m == nil {
		return "no answer"
	}
	return m.Subject + " " + string(m.Data)
}

func isProblem(data []byte) bool {
	var answer struct{ Error *struct{} }
	return json.Unmarshal(data, &answer) == nil && answer.Error != nil
}

func TestOperatorsCall(t *testing.T) {
	s := newSite(t)
	u := s.as(embeddednats.Operator)
	services := opened(t, s.server.ConnectServices)
	for _, subject := range []string{"pawl.api.workflows", "pawl.in.w.t", "$SRV.PING"} {
		if _, err := services.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte("done")) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := services.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"pawl.api.workflows", "pawl.in.w.t", "$SRV.PING"} {
		if m, err := u.Request(subject, nil, 10*time.Second); err != nil || string(m.Data) != "done" {
			t.Errorf("%s: %v", subject, err)
		}
	}
	u.mayNotPublish("pawl.log.0.w.run.prepared", "pawl.feed.w.x", "pawl.tool.mail.send",
		"$JS.API.STREAM.DELETE.PAWL_LOG_0", "$JS.API.STREAM.INFO.PAWL_FEED", "_INBOX.x", "_INBOX_pawl.x",
		"$PAWL.GATE.CONSUMER.CREATE.PAWL_FEED")
	// A request may carry a token: no operator reads those of the others.
	u.mayNotSubscribe(">", "pawl.>", "pawl.api.>", "pawl.api.*", "pawl.*.*", "*.api.createToken", "pawl.api.createToken",
		"pawl.in.>",
		"pawl.tool.>", "$SRV.>", "_R_.>", "_INBOX_pawl.>", "$JS.>", "$SYS.>")
}

// All operators have one user, and each reads its own answers only: also one that comes after another has gone away
// before it was answered.
func TestOperatorsReadTheirOwnAnswersOnly(t *testing.T) {
	s := newSite(t)
	services := opened(t, s.server.ConnectServices)
	questions := make(chan *nats.Msg, 10)
	if _, err := services.ChanSubscribe("pawl.api.>", questions); err != nil {
		t.Fatal(err)
	}
	if err := services.Flush(); err != nil {
		t.Fatal(err)
	}
	listener := func() (user, *nats.Subscription) {
		u := s.as(embeddednats.Operator)
		heard, err := u.SubscribeSync("_INBOX.>")
		if err != nil {
			t.Fatal(err)
		}
		if err := u.Flush(); err != nil {
			t.Fatal(err)
		}
		return u, heard
	}
	ask := func(u user, subject string) (question *nats.Msg) {
		if err := u.PublishRequest("pawl.api."+subject, "_INBOX.mine.1", nil); err != nil {
			t.Fatal(err)
		}
		select {
		case question = <-questions:
		case <-time.After(10 * time.Second):
			t.Fatalf("question %s does not arrive", subject)
		}
		return question
	}
	answered := func(question *nats.Msg) {
		if err := question.Respond([]byte("answer to " + question.Subject)); err != nil {
			t.Fatal(err)
		}
		if err := services.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	hears := func(u user, heard *nats.Subscription, want string) {
		t.Helper()
		answered(ask(u, "last"))
		var all []string
		for range 2 {
			m, err := heard.NextMsg(10 * time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, string(m.Data)); string(m.Data) == "answer to pawl.api.last" {
				break
			}
		}
		if got := strings.Join(all[:len(all)-1], ", "); got != want {
			t.Errorf("hears %q, want %q", got, want)
		}
	}
	first, heardByFirst := listener()
	second, heardBySecond := listener()
	answered(ask(first, "first"))
	open := ask(first, "open")
	hears(second, heardBySecond, "")
	hears(first, heardByFirst, "answer to pawl.api.first")

	first.Close()
	third, heardByThird := listener()
	answered(open)
	hears(third, heardByThird, "")
}

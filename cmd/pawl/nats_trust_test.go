package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/schedule"
)

// reserved are subjects of every family that no outside user may reach in any way.
var reserved = []string{
	"pawl.log.0.w.run.prepared", "pawl.own.0", "pawl.feed.w.run.prepared", "pawl.runlog.w",
	"$JS.API.STREAM.DELETE.PAWL_LOG_0", "$JS.API.STREAM.PURGE.PAWL_LOG_0", "$JS.API.STREAM.NAMES",
	"$JS.ACK.PAWL_LOG_0.x.1.1.1.1.1",
	"$KV.PAWL_LEASES.0", "$SYS.REQ.SERVER.PING", "$PAWL.GATE.CONSUMER.CREATE.PAWL_LOG_0", "_INBOX_pawl.x.y",
}

// trustWorld is a composed engine with a listener.
type trustWorld struct {
	t  *testing.T
	in *node.Node
	js jetstream.JetStream
}

func newTrustWorld(t *testing.T) *trustWorld {
	t.Helper()
	s := config.Settings{
		Data: t.TempDir(), HTTP: "127.0.0.1:0", NATSListen: "127.0.0.1:0", Policies: schedule.Default(),
	}
	d, err := storage.Open(t.Context(), s, underTest().with, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	in, err := node.Compose(t.Context(), d, nil, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	w := &trustWorld{t: t, in: in}
	if w.js, err = jetstream.New(d.Broker.NC); err != nil {
		t.Fatal(err)
	}
	return w
}

// users lists the names of the URL files.
func (w *trustWorld) users() []string {
	w.t.Helper()
	var names []string
	err := filepath.WalkDir(w.in.Data.Broker.Listener.Dir(), func(path string, entry fs.DirEntry, err error) error {
		if name, is := strings.CutSuffix(path, ".url"); err == nil && is {
			rel, _ := filepath.Rel(w.in.Data.Broker.Listener.Dir(), name)
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return names
}

// as connects with a user's URL. What the server refuses is of no concern here.
func (w *trustWorld) as(user string, options ...nats.Option) *nats.Conn {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.in.Data.Broker.Listener.Dir(), user+".url"))
	if err != nil {
		w.t.Fatal(err)
	}
	options = append(options, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	nc, err := nats.Connect(strings.TrimSpace(string(text)), options...)
	if err != nil {
		w.t.Fatalf("connect as %s: %v", user, err)
	}
	w.t.Cleanup(nc.Close)
	return nc
}

// serve makes a tool of the connection.
func (w *trustWorld) serve(nc *nats.Conn, name string) {
	w.t.Helper()
	service, err := micro.AddService(nc, micro.Config{Name: name, Version: "1.0.0"})
	if err != nil {
		w.t.Fatal(err)
	}
	answer := micro.HandlerFunc(func(r micro.Request) { _ = r.Respond([]byte(`{}`)) })
	if err := service.AddGroup("pawl.tool."+name).AddEndpoint("read", answer,
		micro.WithEndpointMetadata(map[string]string{"pawl.kind": "get"})); err != nil {
		w.t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		w.t.Fatal(err)
	}
}

// state is what must not change: the streams, each with its last sequence.
func (w *trustWorld) state() string {
	w.t.Helper()
	var text strings.Builder
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // also when the test has ended
	defer cancel()
	streams := w.js.ListStreams(ctx)
	for info := range streams.Info() {
		fmt.Fprintf(&text, "%s %d to %d, %d messages\n", info.Config.Name, info.State.FirstSeq, info.State.LastSeq,
			info.State.Msgs)
	}
	if err := streams.Err(); err != nil {
		w.t.Fatal(err)
	}
	return text.String()
}

// watch collects what arrives on the reserved subjects, seen with the engine's eyes, until the test of
// this user ends.
func (w *trustWorld) watch(user string) {
	w.t.Helper()
	messages := make(chan *nats.Msg, 10_000)
	for _, subject := range []string{"pawl.log.>", "pawl.own.>", "pawl.feed.>", "pawl.runlog.>", "$KV.>", "$PAWL.>",
		"_INBOX_pawl.x.>", "$JS.ACK.>", "trust.last"} {
		if _, err := w.in.Data.Broker.NC.ChanSubscribe(subject, messages); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.in.Data.Broker.NC.Flush(); err != nil {
		w.t.Fatal(err)
	}
	before := w.state()
	w.t.Cleanup(func() {
		if err := w.in.Data.Broker.NC.Publish("trust.last", nil); err != nil {
			w.t.Fatal(err)
		}
		for {
			select {
			case m := <-messages:
				if m.Subject == "trust.last" {
					if after := w.state(); after != before {
						w.t.Errorf("the streams changed:\n%s\nbefore:\n%s", after, before)
					}
					return
				}
				if user == embeddednats.Subscriber && strings.HasPrefix(m.Subject, "$JS.ACK.") {
					continue // readers acknowledge what they read
				}
				if user == embeddednats.Subscriber && strings.HasPrefix(m.Subject, "$PAWL.GATE.STREAM.") {
					continue // readers ask which streams there are: whatever arrives there is answered, and writes nothing
				}
				w.t.Errorf("%s was reached: %.200s", m.Subject, m.Data)
			case <-time.After(20 * time.Second):
				w.t.Fatal("the engine's own message does not arrive")
			}
		}
	})
}

// requests are the subjects on which services answer.
var requests = []string{
	"pawl.api.listWorkflows", "pawl.api.pauseWorkflow", "pawl.in.w.t", "$SRV.PING", "$SRV.INFO", "$SRV.STATS",
	"$SRV.PING.pawl", "$SRV.INFO.pawl", "$SRV.STATS.pawl",
	"$SRV.PING.counter", "$SRV.INFO.counter", "pawl.tool.counter.read", "pawl.tool.shared.read",
	"$JS.API.STREAM.INFO.PAWL_LOG_0", "$JS.API.STREAM.INFO.PAWL_FEED",
}

// No outside user makes the engine, a tool or the broker write where only the engine may: not by
// publishing, and not by a request that names the subject as the place for its answer.
func TestNoAnswerReachesTheLog(t *testing.T) {
	long(t)
	w := newTrustWorld(t)
	for _, tool := range []string{"counter", "mail"} {
		b := w.in.Data.Broker
		if _, err := embeddednats.AddTool(b.Listener.Dir(), tool, b.Server.ClientURL()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.in.Tools.Admit(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.serve(w.as("connector"), "shared")
	w.serve(w.as("tools/counter"), "counter")
	users := w.users()
	if len(users) != 6 {
		t.Errorf("users %v", users)
	}
	for _, user := range users {
		t.Run(user, func(t *testing.T) {
			w := &trustWorld{t: t, in: w.in, js: w.js}
			w.watch(user)
			nc := w.as(user)
			for _, target := range reserved {
				if err := nc.Publish(target, []byte(`{}`)); err != nil {
					t.Fatal(err)
				}
				for _, request := range requests {
					if err := nc.PublishRequest(request, target, []byte(`{}`)); err != nil {
						t.Fatal(err)
					}
					traced := nats.NewMsg(request)
					traced.Header.Set("Nats-Trace-Dest", target)
					if err := nc.PublishMsg(traced); err != nil {
						t.Fatal(err)
					}
				}
			}
			// Asked in earnest at last: what answers has seen all that came before. What the server refuses is
			// never answered, so all are asked at once.
			var all sync.WaitGroup
			for _, request := range requests {
				all.Go(func() {
					_, err := nc.Request(request, []byte(`{}`), 200*time.Millisecond)
					if err != nil && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, nats.ErrNoResponders) {
						t.Errorf("%s: %v", request, err)
					}
				})
			}
			all.Wait()
		})
	}
}

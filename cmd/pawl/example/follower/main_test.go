package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// The feed ends before the follower's place. The follower waits for the feed to reach it, and compares then.
func TestFeedEndsBeforeThePlace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		again string // the fact that comes in the sequence of the place
		fails bool
	}{
		"the same facts come again": {"b-5", false}, "others come": {"c-5", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := natstest.NewServer(t, natstest.Fast)
			nc := natstest.Connect(t, server)
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: feed, Subjects: []string{"pawl.feed.>"},
				AllowDirect: true}); err != nil {
				t.Fatal(err)
			}
			publish := func(ids ...string) {
				t.Helper()
				for _, id := range ids {
					m := &nats.Msg{Subject: "pawl.feed.w.run.committed", Header: nats.Header{"ce-id": {id}}}
					if _, err := js.PublishMsg(t.Context(), m); err != nil {
						t.Fatal(err)
					}
				}
			}
			publish("b-1", "b-2", "b-3")
			file := filepath.Join(t.TempDir(), "place.json")
			text, err := json.Marshal(place{5, "b-5"})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			waits, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.CREATED." + feed + ".>")
			if err != nil {
				t.Fatal(err)
			}
			if err := nc.Flush(); err != nil {
				t.Fatal(err)
			}
			out := make(lines, 10)
			f := follower{js: js, file: file, out: out, subject: "pawl.feed.*.>"}
			if err := f.readPlace(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			ctx := t.Context()
			go func() { ended <- f.follow(ctx) }()
			if _, err := waits.NextMsg(time.Minute); err != nil {
				t.Fatal(err)
			}
			publish("b-4", test.again, "d-6")
			select {
			case line := <-out:
				if test.fails || !strings.HasPrefix(line, "6 d-6 ") {
					t.Errorf("printed %q", line)
				}
				nc.Close()
				<-ended
			case err := <-ended:
				var other *otherFeed
				if !test.fails || !errors.As(err, &other) {
					t.Errorf("ended with %v", err)
				}
			case <-time.After(time.Minute):
				t.Error("nothing comes")
			}
		})
	}
}

// lines is what was printed.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

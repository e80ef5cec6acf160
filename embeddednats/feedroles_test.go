package embeddednats_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
)

// What can be asked of the feed's stream. What reads is for subscribers, the rest is for the engine alone.
var (
	feedReads = map[string]string{
		"$JS.API.STREAM.NAMES":                                  ``,
		"$JS.API.STREAM.LIST":                                   ``,
		"$JS.API.STREAM.INFO.PAWL_FEED":                         ``,
		"$JS.API.STREAM.MSG.GET.PAWL_FEED":                      `{"seq":1}`,
		"$JS.API.DIRECT.GET.PAWL_FEED":                          `{"seq":1}`,
		"$JS.API.DIRECT.GET.PAWL_FEED.pawl.feed.w.run.prepared": ``,
		"$JS.API.CONSUMER.CREATE.PAWL_FEED.c1":                  `{"stream_name":"PAWL_FEED","config":{"name":"c1"}}`,
		"$JS.API.CONSUMER.INFO.PAWL_FEED.reads":                 ``,
		"$JS.API.CONSUMER.NAMES.PAWL_FEED":                      ``,
		"$JS.API.CONSUMER.LIST.PAWL_FEED":                       ``,
		"$JS.API.CONSUMER.MSG.NEXT.PAWL_FEED.reads":             `1`,
	}
	feedWrites = map[string]string{
		"pawl.feed.w.run.prepared":                         `{}`,
		"$JS.API.STREAM.CREATE.COPY":                       `{"name":"COPY","sources":[{"name":"PAWL_FEED"}]}`,
		"$JS.API.STREAM.UPDATE.PAWL_FEED":                  `{"name":"PAWL_FEED","subjects":["pawl.feed.>"],"max_msgs":1}`,
		"$JS.API.STREAM.DELETE.PAWL_FEED":                  ``,
		"$JS.API.STREAM.PURGE.PAWL_FEED":                   ``,
		"$JS.API.STREAM.MSG.DELETE.PAWL_FEED":              `{"seq":1}`,
		"$JS.API.STREAM.SNAPSHOT.PAWL_FEED":                `{"deliver_subject":"_INBOX.x"}`,
		"$JS.API.STREAM.RESTORE.PAWL_FEED":                 `{}`,
		"$JS.API.STREAM.LEADER.STEPDOWN.PAWL_FEED":         ``,
		"$JS.API.STREAM.PEER.REMOVE.PAWL_FEED":             `{"peer":"x"}`,
		"$JS.API.CONSUMER.DURABLE.CREATE.PAWL_FEED.c2":     `{"stream_name":"PAWL_FEED","config":{"durable_name":"c2"}}`,
		"$JS.API.CONSUMER.DELETE.PAWL_FEED.reads":          ``,
		"$JS.API.CONSUMER.PAUSE.PAWL_FEED.reads":           `{"pause_until":"2040-01-01T00:00:00Z"}`,
		"$JS.API.CONSUMER.UNPIN.PAWL_FEED.reads":           `{"group":"g"}`,
		"$JS.API.CONSUMER.LEADER.STEPDOWN.PAWL_FEED.reads": ``,
		"$PAWL.GATE.CONSUMER.CREATE.PAWL_FEED":             `{"stream_name":"PAWL_FEED","config":{}}`,
		"$PAWL.GATE.STREAM.LIST.subscriber":                ``,
		"$PAWL.GATE.STREAM.NAMES.subscriber":               ``,
	}
)

// TestFeedByRole tries each question about the feed as each user of the listener.
func TestFeedByRole(t *testing.T) {
	s := newSite(t)
	s.addTools("mail")
	before := s.feed()
	if _, err := s.js.CreateConsumer(t.Context(), "PAWL_FEED", jetstream.ConsumerConfig{Name: "reads",
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Hour}); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{embeddednats.Connector, embeddednats.Operator, "tools/mail"} {
		t.Run(role, func(t *testing.T) {
			u := s.as(role)
			u.t = t
			for _, questions := range []map[string]string{feedReads, feedWrites} {
				for subject := range questions {
					u.mayNotPublish(subject)
				}
			}
			u.mayNotPublish("$JS.ACK.PAWL_FEED.reads.1.1.1.1.1")
			u.mayNotSubscribe(">", "pawl.feed.>", "pawl.feed.w.run.prepared", "$JS.EVENT.>", "$JS.API.>")
		})
	}
	t.Run(embeddednats.Subscriber, func(t *testing.T) {
		u := s.as(embeddednats.Subscriber)
		u.t = t
		for subject, data := range feedReads {
			m, err := u.Request(subject, []byte(data), 10*time.Second)
			if err != nil || isProblem(m.Data) || m.Header.Get("Status") != "" {
				t.Errorf("%s: %s, %v", subject, text(m), err)
			}
		}
		for subject, data := range feedWrites {
			if !strings.HasPrefix(subject, "$JS.API.") {
				u.mayNotPublish(subject)
				continue
			}
			if m, err := u.Request(subject, []byte(data), 10*time.Second); !errors.Is(err, nats.ErrNoResponders) {
				t.Errorf("%s: %s, %v", subject, text(m), err)
			}
		}
		u.mayNotSubscribe(">", "pawl.feed.>", "pawl.feed.w.run.prepared", "$JS.EVENT.>", "$JS.API.>")
	})
	if after := s.feed(); after != before {
		t.Errorf("the feed is %s, it was %s", after, before)
	}
	stream, err := s.js.Stream(t.Context(), "PAWL_FEED")
	if err != nil {
		t.Fatal(err)
	}
	var consumers []string
	for info := range stream.ListConsumers(t.Context()).Info() {
		consumers = append(consumers, fmt.Sprintf("%s %s paused=%v", info.Name, info.Config.InactiveThreshold, info.Paused))
	}
	slices.Sort(consumers)
	if got := fmt.Sprint(consumers); got != "[c1 5m0s paused=false reads 1h0m0s paused=false]" {
		t.Errorf("the feed's consumers are %s", got)
	}
}

// feed is how the feed's stream is set, and what it holds.
func (s *site) feed() string {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), "PAWL_FEED")
	if err != nil {
		s.t.Fatal(err)
	}
	info := stream.CachedInfo()
	config, err := json.Marshal(info.Config)
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("%s %d to %d, %d deleted", config, info.State.FirstSeq, info.State.LastSeq, info.State.NumDeleted)
}

package embeddednats_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
)

// A flood of readers' consumers is refused long before it costs the engine anything: the engine goes on reading.
func TestReadersHaveSoManyConsumers(t *testing.T) {
	s := newSite(t)
	js, err := jetstream.New(s.as(embeddednats.Subscriber).Conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{"PAWL_LOG_0", "PAWL_FEED"} {
		made, err := 0, error(nil)
		for err == nil && made <= 200 {
			_, err = js.CreateConsumer(t.Context(), stream, jetstream.ConsumerConfig{
				Durable: fmt.Sprintf("c%d", made), InactiveThreshold: 24 * time.Hour, AckPolicy: jetstream.AckExplicitPolicy,
			})
			if err == nil {
				made++
			}
		}
		var refusal *jetstream.APIError
		if made != 100 || !errors.As(err, &refusal) ||
			refusal.ErrorCode != jetstream.JSErrCodeMaximumConsumersLimit || refusal.Code != 400 {
			t.Errorf("%s: %d consumers, then %v", stream, made, err)
		}
		c, err := js.Consumer(t.Context(), stream, "c7")
		if err != nil || c.CachedInfo().Config.InactiveThreshold != 5*time.Minute {
			t.Errorf("%s: a consumer of a reader: %v", stream, err)
		}
		ordered, err := s.js.OrderedConsumer(t.Context(), stream, jetstream.OrderedConsumerConfig{})
		if err != nil {
			t.Fatalf("%s: the engine's reading: %v", stream, err)
		}
		if m, err := ordered.Next(jetstream.FetchMaxWait(10 * time.Second)); err != nil || string(m.Data()) != `{"n":0}` {
			t.Errorf("%s: the engine's reading: %v", stream, err)
		}
	}
}

// Consumers that earlier versions made by the thousand keep no reader out for a day. Those of the engine stay.
func TestConsumersOfEarlierVersionsMakeRoom(t *testing.T) {
	s := newSite(t)
	add := func(js jetstream.JetStream, name string, idle time.Duration) error {
		c := jetstream.ConsumerConfig{Durable: name, InactiveThreshold: idle}
		_, err := js.CreateConsumer(t.Context(), "PAWL_LOG_0", c)
		return err
	}
	for i := range 150 {
		if err := add(s.js, fmt.Sprintf("old%d", i), 24*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(s.js, "engine", time.Minute); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(s.as(embeddednats.Subscriber).Conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := add(js, "mine", time.Minute); err != nil {
		t.Errorf("a reader: %v", err)
	}
	var names []string
	stream, err := s.js.Stream(t.Context(), "PAWL_LOG_0")
	if err != nil {
		t.Fatal(err)
	}
	for name := range stream.ConsumerNames(t.Context()).Name() {
		names = append(names, name)
	}
	if fmt.Sprint(names) != "[engine mine]" {
		t.Errorf("consumers: %v", names)
	}
}

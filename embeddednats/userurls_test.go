package embeddednats_test

import (
	"context"
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

func TestURLsStayTheSame(t *testing.T) {
	s := newSite(t)
	read := func() map[string]string {
		urls := make(map[string]string)
		for _, name := range []string{embeddednats.Connector, embeddednats.Subscriber, embeddednats.Operator} {
			path := filepath.Join(s.dir, name+".url")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %o", path, info.Mode().Perm())
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			urls[name] = strings.TrimSpace(string(text))
			if !strings.HasPrefix(urls[name], "nats://"+name+":") || strings.Contains(urls[name], ":@") {
				t.Errorf("%s holds %q", path, urls[name])
			}
		}
		return urls
	}
	before := read()
	address := strings.TrimPrefix(s.server.ClientURL(), "nats://")
	s.engine.Close()
	s.server.Shutdown()

	users, err := embeddednats.Users(s.dir, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	s.server = natstest.NewServer(t, natstest.Fast, func(c *embeddednats.Config) {
		c.ListenAddr, c.Users = address, users
	})
	if err := s.server.WriteURLs(s.dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range read() {
		if before[name] != want {
			t.Errorf("%s was %s and is %s", name, before[name], want)
		}
		s.as(name)
	}
	if before[embeddednats.Connector] == before[embeddednats.Operator] {
		t.Error("two users share a URL")
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestADamagedURLFileIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "hello", "nats://127.0.0.1:1", "nats://connector@127.0.0.1:1",
		"nats://operator:secret@127.0.0.1:1"} {
		if err := os.WriteFile(filepath.Join(dir, "connector.url"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := embeddednats.Users(dir, "", 1)
		if err == nil || !strings.Contains(err.Error(), "delete it") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNoURLsWithoutUsers(t *testing.T) {
	s := natstest.NewServer(t, natstest.Fast, func(c *embeddednats.Config) {
		c.ListenAddr, c.Insecure = "127.0.0.1:0", true
	})
	if err := s.WriteURLs(t.TempDir()); err == nil {
		t.Error("URLs without users")
	}
}

// In a cluster a subscriber may be connected to any server.
func TestSubscribersOfACluster(t *testing.T) {
	dir := t.TempDir()
	users, err := embeddednats.Users(dir, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	c := natstest.NewCluster(t, 3, natstest.Fast, func(c *embeddednats.Config) {
		c.ListenAddr, c.Users = "127.0.0.1:0", users
	})
	engine, err := jetstream.New(c.Connect(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.CreateStream(t.Context(),
		jetstream.StreamConfig{Name: "PAWL_FEED", Subjects: []string{"pawl.feed.>"}, Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := engine.Publish(t.Context(), "pawl.feed.w", fmt.Appendf(nil, "%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, server := range c.Servers {
		if err := server.WriteURLs(dir); err != nil {
			t.Fatal(err)
		}
		s := &site{t: t, dir: dir}
		js, err := jetstream.New(s.as(embeddednats.Subscriber).Conn)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		ordered, err := js.OrderedConsumer(ctx, "PAWL_FEED", jetstream.OrderedConsumerConfig{})
		if err != nil {
			t.Fatalf("server %d: %v", i, err)
		}
		for n := range 5 {
			m, err := ordered.Next(jetstream.FetchMaxWait(10 * time.Second))
			for errors.Is(err, nats.ErrNoResponders) && ctx.Err() == nil {
				// The servers have not yet told each other which of them serves the new consumer: ask again.
				m, err = ordered.Next(jetstream.FetchMaxWait(10 * time.Second))
			}
			if err != nil || string(m.Data()) != fmt.Sprint(n) {
				t.Fatalf("server %d: message %d: %v", i, n, err)
			}
		}
	}
}

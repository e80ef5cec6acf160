package bucket_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog/jslog/bucket"
)

// open makes a bucket on a server.
func open(t *testing.T) (*bucket.Bucket, jetstream.JetStream) {
	t.Helper()
	js, err := jetstream.New(natstest.Connect(t, natstest.NewServer(t, natstest.Fast)))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds the first one's
		if _, err := bucket.Create(t.Context(), js, "PAWL_LEASES", 1); err != nil {
			t.Fatal(err)
		}
	}
	b, err := bucket.Open(t.Context(), js, "PAWL_LEASES")
	if err != nil {
		t.Fatal(err)
	}
	return b, js
}

// A value is written only over the one that its writer has seen.
func TestBucket(t *testing.T) {
	t.Parallel()
	b, js := open(t)
	ctx := t.Context()
	if _, revision, err := b.Get(ctx, "partition.0"); err != nil || revision != 0 {
		t.Errorf("nothing there: revision %d, %v", revision, err)
	}
	first, err := b.Put(ctx, "partition.0", []byte("a"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if revision, err := b.Put(ctx, "partition.0", []byte("b"), 0); err != nil || revision != 0 {
		t.Errorf("made twice: revision %d, %v", revision, err)
	}
	watching, end := context.WithCancel(ctx)
	seen := make(chan string, 10)
	done := make(chan error)
	go func() {
		done <- b.Watch(watching, func(key string, value []byte) {
			select {
			case seen <- key + "=" + string(value):
			case <-watching.Done(): // one was enough
			}
		})
	}()
	var second uint64
	for revision, n := first, 0; second == 0; n++ { // until the watcher is there
		if revision, err = b.Put(ctx, "partition.0", []byte("c"), revision); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-seen:
			if second = revision; got != "partition.0=c" {
				t.Errorf("watched %s", got)
			}
		default:
		}
	}
	end()
	if err := <-done; err != nil {
		t.Errorf("the watcher: %v", err)
	}
	if revision, err := b.Put(ctx, "partition.0", []byte("d"), first); err != nil || revision != 0 {
		t.Errorf("over an old revision: %d, %v", revision, err)
	}
	if value, revision, err := b.Get(ctx, "partition.0"); err != nil || revision != second || string(value) != "c" {
		t.Errorf("%q %d, want c %d: %v", value, revision, second, err)
	}
	for _, key := range []string{"node.b", "node.a"} {
		if _, err := b.Put(ctx, key, []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := b.Keys(ctx, "node."); err != nil || !slices.Equal(keys, []string{"node.a", "node.b"}) {
		t.Errorf("keys %q: %v", keys, err)
	}
	if _, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "OTHER"}); err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Open(ctx, js, "OTHER"); err == nil || !strings.Contains(err.Error(), "direct reads") {
		t.Errorf("a bucket with direct reads: %v", err)
	}
	if _, err := bucket.Open(ctx, js, "NONE"); err == nil {
		t.Error("a bucket that is not there was opened")
	}
}

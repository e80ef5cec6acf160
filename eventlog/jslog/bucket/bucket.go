package bucket

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Bucket is a table of values by keys. Its methods are safe for concurrent use.
type Bucket struct {
	js     jetstream.JetStream
	stream string
	kv     jetstream.KeyValue
}

// StreamName is the name of the stream that keeps the bucket.
func StreamName(name string) string { return "KV_" + name }

// Create makes the bucket with so many replicas, or finds it.
func Create(ctx context.Context, js jetstream.JetStream, name string, replicas int) (*Bucket, error) {
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: StreamName(name), Subjects: []string{"$KV." + name + ".>"}, Storage: jetstream.FileStorage, Replicas: replicas,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true,
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil, fmt.Errorf("make the bucket %s: %w", name, err)
	}
	return Open(ctx, js, name)
}

// Open finds the bucket. It refuses a bucket whose reads may be answered by any replica.
func Open(ctx context.Context, js jetstream.JetStream, name string) (*Bucket, error) {
	stream, err := js.Stream(ctx, StreamName(name))
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", name, err)
	}
	if stream.CachedInfo().Config.AllowDirect {
		return nil, fmt.Errorf("open the bucket %s: it allows direct reads, which may be stale: take the setting away with "+
			"nats stream edit KV_%[1]s --no-allow-direct", name)
	}
	kv, err := js.KeyValue(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", name, err)
	}
	return &Bucket{js: js, stream: StreamName(name), kv: kv}, nil
}

// Get returns a value and its revision; without an error revision 0 says that there is none.
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	entry, err := b.kv.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("read %s: %w", key, err)
	}
	return entry.Value(), entry.Revision(), nil
}

// Put writes a value over the one with this revision, 0 for none, and returns the revision it has now. Revision 0
// without an error means that the value has another revision and nothing was written. After an error it may have been
// written.
func (b *Bucket) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, busyPause) {
		written, err := b.kv.Update(ctx, key, value, revision)
		var refused *jetstream.APIError
		switch {
		case err == nil:
			return written, nil
		case !errors.As(err, &refused):
		case refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
			return 0, nil
		case refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant: // another write is in process
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
			}
		}
		return 0, fmt.Errorf("write %s: %w", key, err)
	}
}

// busyPause is the longest pause before a write is sent again after the server has refused it because another write was
// in process.
const busyPause = 50 * time.Millisecond

// Keys lists the keys that begin with the prefix, in their order.
func (b *Bucket) Keys(ctx context.Context, prefix string) ([]string, error) {
	before := "$KV." + b.kv.Bucket() + "."
	stream, err := b.js.Stream(ctx, b.stream)
	if err != nil {
		return nil, fmt.Errorf("list the keys of %s: %w", b.kv.Bucket(), err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(before+prefix+">"))
	if err != nil {
		return nil, fmt.Errorf("list the keys of %s: %w", b.kv.Bucket(), err)
	}
	if info.Config.Replicas > 1 && info.Cluster != nil && info.Cluster.Leader == "" {
		// nats-server 2.15.2 lets a server without space answer so, for itself: it may lack keys.
		return nil, fmt.Errorf("list the keys of %s: the server that answers knows no leader of it", b.kv.Bucket())
	}
	var keys []string
	for _, subject := range slices.Sorted(maps.Keys(info.State.Subjects)) {
		keys = append(keys, strings.TrimPrefix(subject, before))
	}
	return keys, nil
}

// Watch tells what is written, until ctx ends. After an interruption of the connection some of it may be missing.
func (b *Bucket) Watch(ctx context.Context, written func(string, []byte)) error {
	watcher, err := b.kv.WatchAll(ctx, jetstream.UpdatesOnly())
	if err != nil {
		return fmt.Errorf("watch %s: %w", b.kv.Bucket(), err)
	}
	defer func() { _ = watcher.Stop() }() // the connection ends what is left of it
	for {
		select {
		case entry, ok := <-watcher.Updates():
			if !ok {
				return fmt.Errorf("watch %s: it has ended", b.kv.Bucket())
			}
			if entry != nil {
				written(entry.Key(), entry.Value())
			}
		case <-ctx.Done():
			return nil
		}
	}
}

package network

import (
	"context"
	"slices"
	"strings"
)

// Get implements lease.Bucket.
func (l *Link) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	err = l.travel(ctx, ToLeases, func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		value, revision = l.network.values[key], l.network.revisions[key]
	})
	if err != nil {
		return nil, 0, err
	}
	return value, revision, nil
}

// Put implements lease.Bucket.
func (l *Link) Put(ctx context.Context, key string, value []byte, revision uint64) (written uint64, err error) {
	sent := l.network.Elapsed()
	err = l.travel(ctx, ToLeases, func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		written = l.network.put(key, value, revision, sent)
	})
	if err != nil {
		return 0, err
	}
	return written, nil
}

// Keys implements lease.Bucket.
func (l *Link) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	err = l.travel(ctx, ToLeases, func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		for key := range l.network.values {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	return keys, nil
}

// watcher is told of what is written.
type watcher struct{ told chan write }

type write struct {
	key   string
	value []byte
}

// tell notes a write, unless too many wait: a watch may lack some.
func (w *watcher) tell(key string, value []byte) {
	select {
	case w.told <- write{key, value}:
	default:
	}
}

// Watch implements lease.Bucket.
func (l *Link) Watch(ctx context.Context, written func(key string, value []byte)) error {
	w := &watcher{told: make(chan write, 64)}
	l.network.mu.Lock()
	l.network.watchers[w] = true
	l.network.mu.Unlock()
	defer func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		delete(l.network.watchers, w)
	}()
	for {
		select {
		case told := <-w.told:
			if l.travel(ctx, ToLeases, func() {}) == nil {
				written(told.key, told.value)
			}
		case <-ctx.Done():
			return nil
		case <-l.network.over:
			return nil
		}
	}
}

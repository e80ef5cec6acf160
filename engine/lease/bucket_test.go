package lease

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
)

// table is a bucket in memory.
type table struct {
	mu       sync.Mutex
	values   map[string][]byte
	at       map[string]uint64
	last     uint64
	watchers map[*func(string, []byte)]bool
}

func newTable() *table {
	return &table{values: map[string][]byte{}, at: map[string]uint64{}, watchers: map[*func(string, []byte)]bool{}}
}

// way is one engine's way to the table, on which requests and answers get lost.
type way struct {
	*table
	mu    sync.Mutex
	cut   bool
	fault func() (before, after time.Duration, lost string)
	past  *old
}

// old is an entry as a deposed leader still knows it.
type old struct {
	key      string
	value    []byte
	revision uint64
}

// answerAs sets what each reading of the key's entry gets from now on. An empty key ends that.
func (w *way) answerAs(key string, value []byte, revision uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.past = &old{key, value, revision}
}

var errLate = errors.New("no answer in time")

// travel is what happens to one request.
func (w *way) travel(ctx context.Context, do func()) error {
	w.mu.Lock()
	cut, fault := w.cut, w.fault
	w.mu.Unlock()
	if cut {
		<-ctx.Done()
		return errLate
	}
	if fault == nil {
		do()
		return nil
	}
	before, after, lost := fault()
	if lost == "request" {
		<-ctx.Done()
		return errLate
	}
	// A request that is on its way arrives, whether its sender still waits or not.
	done := make(chan struct{})
	go func() {
		<-time.After(before) // in the time of the bubble
		do()
		<-time.After(after) // in the time of the bubble
		close(done)
	}()
	if lost != "answer" {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return errLate
		}
	}
	<-ctx.Done()
	return errLate
}

func (w *way) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	type answer struct {
		value    []byte
		revision uint64
	}
	w.mu.Lock()
	past := w.past
	w.mu.Unlock()
	got := make(chan answer, 1)
	err = w.travel(ctx, func() {
		w.table.mu.Lock()
		defer w.table.mu.Unlock()
		if past != nil && past.key == key {
			got <- answer{past.value, past.revision}
			return
		}
		got <- answer{w.values[key], w.at[key]}
	})
	if err != nil {
		return nil, 0, err
	}
	a := <-got
	return a.value, a.revision, nil
}

func (w *way) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	got := make(chan uint64, 1)
	err := w.travel(ctx, func() {
		w.table.mu.Lock()
		defer w.table.mu.Unlock()
		if w.at[key] != revision {
			got <- 0
			return
		}
		w.last++
		w.values[key], w.at[key] = value, w.last
		for watcher := range w.watchers {
			go (*watcher)(key, value)
		}
		got <- w.last
	})
	if err != nil {
		return 0, err
	}
	return <-got, nil
}

func (w *way) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	got := make(chan []string, 1)
	err = w.travel(ctx, func() {
		w.table.mu.Lock()
		defer w.table.mu.Unlock()
		var all []string
		for key := range w.values {
			if strings.HasPrefix(key, prefix) {
				all = append(all, key)
			}
		}
		got <- all
	})
	if err != nil {
		return nil, err
	}
	return <-got, nil
}

func (w *way) Watch(ctx context.Context, written func(string, []byte)) error {
	w.table.mu.Lock()
	w.watchers[&written] = true
	w.table.mu.Unlock()
	<-ctx.Done()
	w.table.mu.Lock()
	delete(w.watchers, &written)
	w.table.mu.Unlock()
	return nil
}

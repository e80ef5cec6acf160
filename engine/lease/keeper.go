package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/pawl-run/pawl/engine/clock"
)

// Keeper takes, renews and gives back the leases of one engine. Its methods are safe for concurrent use.
type Keeper struct {
	cfg        Config
	pokes      []chan struct{} // by partition: look at once
	observeNow chan struct{}
	leaving    context.Context
	leave      context.CancelFunc
	// outdated is set before leave is called.
	outdated atomic.Bool
	garbled  map[string]bool // the keys of nodes that are left out; only keepNode uses it

	mu sync.Mutex
	// leases are those that this engine has not given back, lost ones among them. waiting holds the caller of Acquire, by
	// partition.
	leases        map[int]*Lease
	waiting       map[int]chan *Lease
	share         int  // how many partitions this engine should have; 0 while it does not know the others
	scarce        bool // every engine that does not end lacks more than records
	mayCountEnded bool // some engine may still count one that is gone
	nodes         map[string]Node
	owners        map[int]Entry // as last seen
	silent        map[int]bool  // the owner has not renewed for as long as it holds a lease
}

// New checks the configuration and prepares a keeper; Run starts it.
func New(cfg Config) (*Keeper, error) {
	if cfg.Bucket == nil || cfg.Partitions < 1 || cfg.Node == "" {
		return nil, errors.New("lease: Bucket, Partitions and Node are required")
	}
	if cfg.Engine == "" {
		cfg.Engine = rand.Text()
	}
	if cfg.Renew == 0 {
		cfg.Renew = renewEvery
	}
	cfg.Bucket = repeated{cfg.Bucket, cfg.Renew / 8}
	if cfg.Elapsed == nil {
		cfg.Elapsed = clock.Elapsed
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	k := &Keeper{cfg: cfg, leases: map[int]*Lease{}, waiting: map[int]chan *Lease{},
		owners: map[int]Entry{}, silent: map[int]bool{}, garbled: map[string]bool{},
		observeNow: make(chan struct{}, 1)}
	k.leaving, k.leave = context.WithCancel(context.Background())
	for range cfg.Partitions {
		k.pokes = append(k.pokes, make(chan struct{}, 1))
	}
	return k, nil
}

// Engine is the name of this process.
func (k *Keeper) Engine() string { return k.cfg.Engine }

// Acquire waits until this engine holds the partition. At most one caller waits for a partition, and none while this
// engine holds a lease of it.
func (k *Keeper) Acquire(ctx context.Context, partition int) (*Lease, error) {
	given := make(chan *Lease, 1)
	k.mu.Lock()
	if k.waiting[partition] != nil || k.leases[partition] != nil {
		k.mu.Unlock()
		return nil, fmt.Errorf("acquire partition %d: it is held or waited for already", partition)
	}
	k.waiting[partition] = given
	k.mu.Unlock()
	k.poke(partition)
	select {
	case l := <-given:
		return l, nil
	case <-ctx.Done():
	}
	k.mu.Lock()
	delete(k.waiting, partition)
	k.mu.Unlock()
	select {
	case l := <-given: // it was given just now
		return nil, errors.Join(context.Cause(ctx), l.GiveBack(context.WithoutCancel(ctx)))
	default:
		return nil, context.Cause(ctx)
	}
}

// Owner is the entry of the partition as it was last seen; empty where it has no owner.
func (k *Keeper) Owner(partition int) Entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.owners[partition]
}

// Holder is the engine that holds the partition, as far as is known; false where none does, or it was not heard of for
// as long as it may hold a lease without renewing it.
func (k *Keeper) Holder(partition int) (Entry, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	owner := k.owners[partition]
	return owner, owner.Engine != "" && !k.silent[partition]
}

// poke has the partition looked at now.
func (k *Keeper) poke(partition int) {
	select {
	case k.pokes[partition] <- struct{}{}:
	default:
	}
}

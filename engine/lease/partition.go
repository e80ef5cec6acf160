package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
)

// tend renews the partition's lease, or looks whether it may be taken, until ctx ends.
func (k *Keeper) tend(ctx context.Context, partition int) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	seen := view{renew: k.cfg.Renew}
	for {
		again := k.cfg.Renew
		k.mu.Lock()
		l := k.leases[partition]
		k.mu.Unlock()
		switch {
		case l == nil:
			k.look(ctx, partition, &seen)
			again = seen.again()
		case !l.isGone():
			seen.blind()
			if !k.renew(ctx, l) {
				again /= 4
			}
		}
		timer.Reset(again)
		select {
		case <-timer.C:
		case <-k.pokes[partition]:
		case <-ctx.Done():
			return
		}
	}
}

// look sees which engine holds the partition, and takes it if it may.
func (k *Keeper) look(ctx context.Context, partition int, seen *view) {
	within := k.cfg.Renew
	if !seen.sighted {
		within /= 2 // a request that is made during an election is never answered
	}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	entry, revision, err := get[Entry](limited, k.cfg.Bucket, partitionKey(partition))
	if err != nil {
		seen.blind()
		k.failed(ctx, "cannot read which engine holds a partition", partition, err)
		return
	}
	seen.see(revision, k.cfg.Elapsed())
	if !k.mayTake(partition, entry, seen) {
		return
	}
	taken := Entry{Engine: k.cfg.Engine, Node: k.cfg.Node, URL: k.cfg.URL, Epoch: entry.Epoch + 1, Renewal: 1,
		AnswersByEpoch: true}
	sent := k.cfg.Elapsed()
	revision, err = put(limited, k.cfg.Bucket, partitionKey(partition), taken, revision)
	if err != nil {
		if !errors.Is(err, errChanged) {
			k.failed(ctx, "cannot take a partition", partition, err)
		}
		return
	}
	l := k.newLease(partition, taken, revision, sent+k.cfg.holdFor())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.leases[partition], k.owners[partition], k.silent[partition] = l, taken, false
	if given := k.waiting[partition]; given != nil {
		delete(k.waiting, partition)
		given <- l
		k.cfg.Logger.Info("took a partition", "partition", partition, "epoch", taken.Epoch, "from", entry.Node)
		return
	}
	go func() { _ = l.GiveBack(context.WithoutCancel(ctx)) }() // its caller has gone
}

// mayTake notes what was seen of a partition and reports whether this engine should take it.
func (k *Keeper) mayTake(partition int, entry Entry, seen *view) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.owners[partition], k.silent[partition] = entry, seen.unchanged >= k.cfg.holdFor()
	free := entry.Engine == "" || entry.Engine == k.cfg.Engine || seen.stale()
	return free && k.waiting[partition] != nil && len(k.leases) < k.share
}

// renew writes the entry anew. One attempt follows another while the time of the lease lasts; false says that this one
// failed.
func (k *Keeper) renew(ctx context.Context, l *Lease) bool {
	limited, cancel := context.WithTimeout(ctx, k.cfg.Renew)
	defer cancel()
	for {
		l.entry.Renewal++
		sent := k.cfg.Elapsed()
		revision, err := put(limited, k.cfg.Bucket, partitionKey(l.partition), l.entry, l.revision)
		if err == nil {
			l.renewed(sent+k.cfg.holdFor(), revision)
			k.handOverSurplus(l)
			return true
		}
		if !errors.Is(err, errChanged) {
			k.failed(ctx, "cannot renew the lease of a partition", l.partition, err)
			return false
		}
		now, at, err := get[Entry](limited, k.cfg.Bucket, partitionKey(l.partition))
		switch {
		case err != nil:
			k.failed(ctx, "cannot read the lease of a partition", l.partition, err)
			return false
		case l.isGone(): // given back meanwhile
			return true
		case at != 0 && at < l.revision: // from a leader that was deposed and does not know it yet
			return false
		case now.Engine != k.cfg.Engine || now.Epoch != l.entry.Epoch:
			k.cfg.Logger.Warn("another engine has taken a partition", "partition", l.partition, "by", now.Node)
			l.lose(errLost)
			return true
		}
		l.revision = at // an earlier renewal whose answer was lost
	}
}

// handOverSurplus ends the lease if this engine has more partitions than its share. It ends one lease
// at a time. It ends none while an engine that is gone may still be counted: the partition might be taken late then. An
// engine that lacks what it needs to run its partitions ends all leases at once. Where all engines lack something, each
// keeps what it has; those that lack records alone share as usual.
func (k *Keeper) handOverSurplus(l *Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.leases) <= k.share || k.leaving.Err() != nil || k.scarce || l.Cause() != nil {
		return
	}
	if k.share > 0 || k.nodes[k.cfg.Node].Lacks == "" {
		if k.mayCountEnded {
			return
		}
		for p, other := range k.leases {
			if p > l.partition || other.Cause() != nil {
				return // that one goes first
			}
		}
	}
	k.cfg.Logger.Info("handing a partition over", "partition", l.partition)
	l.end(errHandOver)
}

// giveBack writes an entry without an owner, and forgets the lease.
func (k *Keeper) giveBack(ctx context.Context, l *Lease) error {
	defer func() {
		k.mu.Lock()
		if k.leases[l.partition] == l {
			delete(k.leases, l.partition)
		}
		k.mu.Unlock()
		k.poke(l.partition)
	}()
	limited, cancel := context.WithTimeout(ctx, 2*k.cfg.Renew)
	defer cancel()
	for {
		err := k.tryGiveBack(limited, l)
		if err == nil {
			return nil
		}
		if limited.Err() != nil {
			return fmt.Errorf("give partition %d back: %w", l.partition, err)
		}
		if !errors.Is(err, errChanged) { // by the last renewal, which was under way
			clock.Sleep(limited, k.cfg.Renew/20)
		}
	}
}

// tryGiveBack writes an entry without an owner, unless it is another's by now. What is asked during an election is
// never answered, so no attempt takes long.
func (k *Keeper) tryGiveBack(ctx context.Context, l *Lease) error {
	ctx, cancel := context.WithTimeout(ctx, k.cfg.Renew/4)
	defer cancel()
	now, revision, err := get[Entry](ctx, k.cfg.Bucket, partitionKey(l.partition))
	if err != nil || now.Engine != k.cfg.Engine || now.Epoch != l.entry.Epoch {
		return err
	}
	_, err = put(ctx, k.cfg.Bucket, partitionKey(l.partition), Entry{Node: k.cfg.Node, Epoch: now.Epoch}, revision)
	return err
}

// failed logs what may succeed the next time.
func (k *Keeper) failed(ctx context.Context, what string, partition int, err error) {
	if ctx.Err() == nil {
		k.cfg.Logger.Warn(what, "partition", partition, "error", err)
	}
}

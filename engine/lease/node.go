package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/clock"
)

// ErrNodeName says that two engines run under the same name of a node.
var ErrNodeName = errors.New("another engine runs under the name of this node")

func (k *Keeper) nodeKey() string { return NodePrefix + k.cfg.Node }

func (k *Keeper) nameTaken() error {
	return fmt.Errorf("%w, %s: give each engine a name of its own", ErrNodeName, k.cfg.Node)
}

// enter waits until it has seen that no other process renews the entry of this node. The entry may change once
// meanwhile: the last renewal of a process that was killed can be late.
func (k *Keeper) enter(ctx context.Context) error {
	var last uint64
	for seen, changes := 0, 0; ; {
		limited, cancel := context.WithTimeout(ctx, k.cfg.Renew)
		node, revision, err := get[Node](limited, k.cfg.Bucket, k.nodeKey())
		cancel()
		switch {
		case err != nil:
			k.cfg.Logger.Warn("cannot read which engines run", "error", err)
		case node.Engine == "":
			return nil
		case revision == last:
			if seen++; seen > 3 {
				return nil
			}
		default:
			if changes++; changes > 2 {
				return k.nameTaken()
			}
			last, seen = revision, 0
		}
		if clock.Sleep(ctx, k.cfg.Renew); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Leave tells the others that this engine is going to give its partitions back and end. It takes no other ones.
func (k *Keeper) Leave() { k.leave() }

// Retire tells the others that this engine cannot read the log any more. It takes no partitions any more and has to
// give back the partitions that it has.
func (k *Keeper) Retire() {
	k.outdated.Store(true)
	k.leave()
}

// left tells the others that this engine has ended.
func (k *Keeper) left(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, k.cfg.Renew)
	defer cancel()
	node, revision, err := get[Node](ctx, k.cfg.Bucket, k.nodeKey())
	if err == nil && node.Engine == k.cfg.Engine {
		node.Engine = ""
		_, err = put(ctx, k.cfg.Bucket, k.nodeKey(), node, revision)
	}
	if err != nil {
		k.cfg.Logger.Warn("cannot tell the other engines that this one ends; they see it later", "error", err)
	}
}

// keepNode tells the others that this engine runs and what it lacks, and learns the same of the others.
func (k *Keeper) keepNode(ctx context.Context, lacks func() Shortage) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	own := Node{Engine: k.cfg.Engine, URL: k.cfg.URL, Version: k.cfg.Version, Format: k.cfg.Format}
	leaving := k.leaving.Done()
	seen := map[string]*seenNode{}
	said := notice{renew: k.cfg.Renew}
	revision, due := uint64(0), k.cfg.Elapsed() // of this node's entry
	for {
		if now := k.cfg.Elapsed(); leaving != nil && said.update(lacks(), now) {
			own.Lacks, own.Leaving, due = said.told, said.told != "", now
			k.sayLacks(said.told)
		}
		var err error
		if now := k.cfg.Elapsed(); now >= due {
			if revision, err = k.announce(ctx, &own, revision); errors.Is(err, ErrNodeName) {
				return err
			}
			if err == nil {
				due = now + k.cfg.Renew
			}
		}
		again := k.cfg.Renew / 4
		if err == nil {
			again, err = k.observeNodes(ctx, seen)
		}
		if err != nil && ctx.Err() == nil {
			k.cfg.Logger.Warn("cannot tell or learn which engines run", "error", err)
			for _, v := range seen {
				v.blind()
			}
		}
		if rest := due - k.cfg.Elapsed(); rest > 0 {
			again = min(again, rest)
		}
		timer.Reset(again)
		select {
		case <-timer.C:
		case <-k.observeNow:
		case <-leaving:
			own.Leaving, own.Outdated, own.Lacks = true, k.outdated.Load(), ""
			leaving, due = nil, k.cfg.Elapsed()
		case <-ctx.Done():
			return nil
		}
	}
}

// sayLacks logs what the others are told.
func (k *Keeper) sayLacks(lacks Shortage) {
	if lacks == "" {
		k.cfg.Logger.Info("this engine lacks nothing any more; it takes its share of the partitions again")
		return
	}
	k.cfg.Logger.Warn("this engine lacks something that it needs to run partitions; engines that lack nothing take its "+
		"partitions, if there are any", "lacks", string(lacks))
}

// announce renews this node's entry and returns its revision. The first time, after revision 0, it replaces the entry
// of an earlier process. An entry that is older than the last one of this process was read from a leader that was
// deposed and does not know it yet: it says nothing of other processes.
func (k *Keeper) announce(ctx context.Context, own *Node, last uint64) (revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.cfg.Renew)
	defer cancel()
	now, at, err := get[Node](ctx, k.cfg.Bucket, k.nodeKey())
	switch {
	case err != nil:
		return last, err
	case at < last && at != 0:
		return last, fmt.Errorf("announce node %s: the bucket answered with revision %d of its entry, older than %d, which "+
			"this engine has written; a deposed leader may have answered", k.cfg.Node, at, last)
	case last != 0 && at != 0 && now.Engine != own.Engine:
		return last, k.nameTaken()
	}
	own.Renewal++
	if revision, err = put(ctx, k.cfg.Bucket, k.nodeKey(), *own, at); err != nil {
		return last, fmt.Errorf("announce node %s: %w", k.cfg.Node, err)
	}
	return revision, nil
}

// observeNodes looks at the entries of all nodes, and says after how long it should do so again.
func (k *Keeper) observeNodes(ctx context.Context, seen map[string]*seenNode) (again time.Duration, err error) {
	again = k.cfg.Renew / 2
	ctx, cancel := context.WithTimeout(ctx, k.cfg.Renew)
	defer cancel()
	keys, err := k.cfg.Bucket.Keys(ctx, NodePrefix)
	if err != nil {
		return k.cfg.Renew / 4, err
	}
	live := map[string]Node{}
	for _, key := range keys {
		node, revision, err := get[Node](ctx, k.cfg.Bucket, key)
		if err != nil && !errors.Is(err, errGarbled) {
			return k.cfg.Renew / 4, err
		}
		if k.leaveOut(key, err); err != nil {
			delete(seen, key)
			continue
		}
		if seen[key] == nil {
			seen[key] = &seenNode{view: view{renew: k.cfg.Renew}}
		}
		seen[key].observe(node.Engine, revision, k.cfg.Elapsed())
		if node.Engine != "" {
			again = min(again, seen[key].again())
		}
		if name := strings.TrimPrefix(key, NodePrefix); node.Engine != "" && (name == k.cfg.Node || !seen[key].stale()) {
			live[name] = node
		}
	}
	names, scarce := sharing(live)
	place := slices.Index(names, k.cfg.Node)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodes, k.scarce, k.mayCountEnded = live, scarce, mayCountEnded(seen, k.cfg.Elapsed())
	mine := 0 // it is leaving
	if place >= 0 {
		mine = share(k.cfg.Partitions, place, len(names))
	}
	if mine != k.share {
		k.share = mine
		for p := range k.cfg.Partitions {
			k.poke(p)
		}
	}
	return again, nil
}

// leaveOut says once that the entry of a node cannot be understood: the others share the partitions without it. err is
// nil once it can.
func (k *Keeper) leaveOut(key string, err error) {
	switch {
	case err == nil:
		delete(k.garbled, key)
	case !k.garbled[key]:
		k.garbled[key] = true
		k.cfg.Logger.Error("a node says what this version does not understand: it is left out, and the others share the "+
			"partitions", "node", strings.TrimPrefix(key, NodePrefix), "error", err)
	}
}

// sharing are the names of the nodes that share the partitions, sorted: those that lack nothing. Where every other node
// is ending, those that lack records alone are: they can run what they have read. Nodes that lack something else are
// among them only where there are none of these either; scarce says so.
func sharing(live map[string]Node) (names []string, scarce bool) {
	var behind, lacking []string
	for name, n := range live {
		switch {
		case n.Lacks.Holds():
			lacking = append(lacking, name)
		case n.Lacks != "":
			behind = append(behind, name)
		case !n.Leaving:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = behind
	}
	if scarce = len(names) == 0; scarce {
		names = lacking
	}
	slices.Sort(names)
	return names, scarce
}

// Nodes are the nodes whose engines run, by name.
func (k *Keeper) Nodes() map[string]Node {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.nodes)
}

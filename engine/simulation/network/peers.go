package network

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/peer"
)

// Ask implements engine.Peers. Of two engines that answer for a partition, in any epoch, the one that came last is
// asked, if there is a way to it: what is sent to one that is cut off, or stands still, is not answered in time.
func (l *Link) Ask(ctx context.Context, partition int, epoch uint64, request []byte) ([]byte, error) {
	if l.IsCut(ToPeers) {
		return nil, fmt.Errorf("ask for partition %d: %w: not connected", partition, peer.ErrNobody)
	}
	var owner *answerer
	var taken time.Duration
	err := l.travel(ctx, ToPeers, func() {
		if owner = l.network.answerer(partition, epoch); owner != nil {
			taken = owner.link.takes()
		}
	})
	switch {
	case err != nil:
		return nil, err
	case owner == nil:
		return nil, fmt.Errorf("ask for partition %d: %w", partition, peer.ErrNobody)
	}
	answered := make(chan []byte, 1)
	go func() {
		if owner.link.Pass(owner.ctx, ToPeers) != nil {
			return
		}
		l.network.Rest(taken)
		if owner.link.Pass(owner.ctx, ToPeers) != nil {
			return
		}
		text := owner.answer(owner.ctx, request)
		if owner.link.Pass(owner.ctx, ToPeers) == nil {
			answered <- text
		}
	}()
	select {
	case text := <-answered:
		l.network.Rest(l.latency)
		return text, l.Pass(ctx, ToPeers)
	case <-ctx.Done():
	case <-l.network.over:
	}
	return nil, errLost
}

// takes is how long the engine takes to read the next request. No two of those that wait while it stands still take
// equally long, so that they have an order when it goes on.
func (l *Link) takes() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	return time.Duration(1+l.asked%100) * time.Microsecond
}

// answerer is the engine that is asked for the partition, in that epoch or with 0 in any; nil where none answers.
func (n *Network) answerer(partition int, epoch uint64) *answerer {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(n.answering[partition]),
		func(a *answerer) bool { return epoch != 0 && a.epoch != epoch })
	for _, a := range slices.Backward(all) {
		a.link.mu.Lock()
		reachable := !a.link.dead && !a.link.cut[ToPeers]
		a.link.mu.Unlock()
		if reachable {
			return a
		}
	}
	for _, a := range all { // the server has not noticed yet that it is cut off; it sees a connection that is closed
		a.link.mu.Lock()
		dead := a.link.dead
		a.link.mu.Unlock()
		if !dead {
			return a
		}
	}
	return nil
}

// subscribeTimeout bounds how long the server may take to know which engine answers.
const subscribeTimeout = 5 * time.Second

// Answer implements engine.Peers.
func (l *Link) Answer(ctx context.Context, partition int, epoch uint64,
	answer func(ctx context.Context, request []byte) []byte) (stop func(), err error) {
	a := &answerer{l, epoch, ctx, answer}
	limited, cancel := context.WithTimeout(ctx, subscribeTimeout)
	defer cancel()
	err = l.travel(limited, ToPeers, func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		l.network.answering[partition] = append(l.network.answering[partition], a)
	})
	if err != nil {
		return nil, fmt.Errorf("answer for partition %d: %w", partition, err)
	}
	return func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		l.network.answering[partition] = slices.DeleteFunc(l.network.answering[partition],
			func(other *answerer) bool { return other == a })
	}, nil
}

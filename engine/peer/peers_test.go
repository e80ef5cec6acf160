package peer_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/engine/peer"
	"github.com/pawl-run/pawl/eventlog"
)

// A request reaches the engine that answers for its partition; where none does, or the request is too large, its sender
// knows that nothing was received.
func TestRequestsReachTheOwner(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	owner, asker := peer.New(nc, ""), peer.New(nc, "")
	stop, err := owner.Answer(t.Context(), 3, 7, func(_ context.Context, request []byte) []byte {
		return append([]byte("answer to "), request...)
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := asker.Ask(t.Context(), 3, 7, []byte("a"))
	if err != nil || string(got) != "answer to a" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := asker.Ask(t.Context(), 2, 7, []byte("a")); !errors.Is(err, peer.ErrNobody) {
		t.Errorf("a partition without an owner: %v", err)
	}
	if _, err := peer.New(nc, "other").Ask(t.Context(), 3, 7, []byte("a")); !errors.Is(err, peer.ErrNobody) {
		t.Errorf("another installation: %v", err)
	}
	if got, err := asker.Ask(t.Context(), 3, 0, []byte("a")); err != nil || string(got) != "answer to a" {
		t.Errorf("asked in any epoch: %q, %v", got, err)
	}
	if _, err := asker.Ask(t.Context(), 3, 6, []byte("a")); !errors.Is(err, peer.ErrNobody) {
		t.Errorf("the owner before: %v", err)
	}
	large := bytes.Repeat([]byte{'a'}, int(nc.MaxPayload())+1)
	if _, err := asker.Ask(t.Context(), 3, 7, large); !errors.Is(err, eventlog.ErrTooLarge) {
		t.Errorf("a request that cannot be sent: %v", err)
	}
	stop()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := asker.Ask(t.Context(), 3, 7, []byte("a")); !errors.Is(err, peer.ErrNobody) {
		t.Errorf("after the owner has stopped: %v", err)
	}
}

// An owner that stands still keeps its place at the servers for minutes. None of what is for the owner after it goes
// there.
func TestAnOwnerThatStandsStillIsNotAsked(t *testing.T) {
	t.Parallel()
	server := natstest.NewServer(t, natstest.Fast)
	still, owner, asker := natstest.Connect(t, server), natstest.Connect(t, server), natstest.Connect(t, server)
	if _, err := peer.New(still, "").Answer(t.Context(), 3, 7, func(ctx context.Context, _ []byte) []byte {
		<-ctx.Done()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.New(owner, "").Answer(t.Context(), 3, 8, func(_ context.Context, request []byte) []byte {
		return request
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 32 { // of a request that is for any of the two, half goes to the one that stands still
		if got, err := peer.New(asker, "").Ask(ctx, 3, 8, []byte("a")); err != nil || string(got) != "a" {
			t.Fatalf("%q, %v", got, err)
		}
	}
}

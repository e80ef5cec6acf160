package peer_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

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
	stop, err := owner.Answer(t.Context(), 3, func(_ context.Context, request []byte) []byte {
		return append([]byte("answer to "), request...)
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := asker.Ask(t.Context(), 3, []byte("a"))
	if err != nil || string(got) != "answer to a" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := asker.Ask(t.Context(), 2, []byte("a")); !errors.Is(err, peer.ErrNobody) {
		t.Errorf("a partition without an owner: %v", err)
	}
	if _, err := peer.New(nc, "other").Ask(t.Context(), 3, []byte("a")); !errors.Is(err, peer.ErrNobody) {
		t.Errorf("another installation: %v", err)
	}
	large := bytes.Repeat([]byte{'a'}, int(nc.MaxPayload())+1)
	if _, err := asker.Ask(t.Context(), 3, large); !errors.Is(err, eventlog.ErrTooLarge) {
		t.Errorf("a request that cannot be sent: %v", err)
	}
	stop()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := asker.Ask(t.Context(), 3, []byte("a")); !errors.Is(err, peer.ErrNobody) {
		t.Errorf("after the owner has stopped: %v", err)
	}
}

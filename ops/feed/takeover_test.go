package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/engine/simulation/network"
	"github.com/pawl-run/pawl/eventlog"
)

// sharer is an engine that shares the log with others, and publishes the feed when that is its duty.
type sharer struct {
	*enginetest.Engine
	link   *network.Link
	feeder *Feeder
}

// share starts an engine on the site's log.
func (s *site) share(between *network.Network, number int, renew time.Duration) *sharer {
	s.t.Helper()
	f, err := New(s.config())
	if err != nil {
		s.t.Fatal(err)
	}
	n := &sharer{link: between.Join(number), feeder: f}
	leases, err := lease.New(lease.Config{Bucket: n.link, Partitions: 1, Node: fmt.Sprintf("n%d", number), Renew: renew,
		Elapsed: n.link.Elapsed, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	h := enginetest.NewOn(s.t, s.log)
	h.Config = engine.Config{Leases: leases, Peers: n.link, DrainTimeout: time.Second, SettleTimeout: time.Second,
		Duties: f.Run, Observe: f.Observe}
	n.Engine = h.Start()
	return n
}

// One of two engines publishes the feed. It ends without a word, and then the other in good order: every fact is
// published once, those of a partition in the order of the log.
func TestTheFeedFollowsItsOwner(t *testing.T) {
	t.Parallel()
	const renew, each = 100 * time.Millisecond, 20
	s := newSite(t, 1)
	between := network.New(renew * 15 / 2)
	first := s.share(between, 1, renew)
	push := func(from int, through *sharer) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for i := from; i < from+each; {
			_, err := through.Push(ctx, enginetest.Tester, "w", "in", []decide.PushItem{{
				MessageID: eventlog.MessageID(fmt.Sprintf("m%d", i)), Title: "M", Payload: json.RawMessage(`{}`)}})
			switch {
			case err == nil:
				i++
			case !errors.Is(err, engine.ErrUnavailable):
				t.Fatal(err)
			}
		}
	}
	result, err := first.Deploy(t.Context(), enginetest.Tester, engine.DeployRequest{Filename: "w.js", GrantUsed: true,
		Source: `export default Keep.workflow({ name: "w", topics: { in: {}, out: {} }, consumers: { c: Keep.consumer({
			subscribe: ["in"],
			async prepare(ctx) {
				const [event] = await ctx.peek("in");
				return { reservations: event ? [{ topic: "in", ids: [event.messageId] }] : [], data: event && event.messageId };
			},
			async next(ctx, prepared) {
				if (prepared.data) await ctx.publish("out", { messageId: prepared.data, title: "Out", payload: {} });
			},
		}) } });`})
	if err != nil || result.Refused {
		t.Fatalf("deploy: %v, %+v", err, result.Problems)
	}
	push(0, first)
	second := s.share(between, 2, renew)
	push(each, second)
	first.link.Kill() // it stays where it was: what it publishes from now on is fenced
	push(2*each, second)
	third := s.share(between, 3, renew)
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	push(3*each, third)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := third.WaitIdle(ctx); err != nil {
		t.Fatal(err)
	}
	s.caughtUp(third.feeder)
	if third.Partitions()[0].Epoch < 3 {
		t.Errorf("the partition is in epoch %d, want two take-overs", third.Partitions()[0].Epoch)
	}
	s.same(s.published(""), s.expected(s.log, "pawl"))
	between.Close()
}

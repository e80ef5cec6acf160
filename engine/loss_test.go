package engine_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// keeper is a log in memory that remembers what was set aside, or cannot.
type keeper struct {
	*memlog.Log
	full   bool
	room   int // how many ranges it remembers, unless it is 0
	asides []eventlog.Aside

	namesLost bool
}

func (k *keeper) SameLog(string, int) bool          { return true }
func (k *keeper) Unrecorded(int) []eventlog.Missing { return nil }
func (k *keeper) NamesLost(int) bool                { return k.namesLost }
func (k *keeper) ConfirmNames(context.Context, int) error {
	k.namesLost = false
	return nil
}
func (k *keeper) Recorded(_ context.Context, _ int, names bool) error {
	k.namesLost = k.namesLost || names
	return nil
}
func (k *keeper) Asides(int) []eventlog.Aside { return k.asides }
func (k *keeper) ReadAll(ctx context.Context, partition int, from uint64) iter.Seq2[eventlog.Record, error] {
	return k.Read(ctx, partition, from)
}
func (k *keeper) last(w eventlog.WorkflowName) (seq uint64) {
	for _, aside := range k.asides {
		if aside.Workflow == w {
			seq = aside.To
		}
	}
	return seq
}

func (k *keeper) SetAside(_ context.Context, _ int, more []eventlog.Aside) (int, error) {
	if k.full {
		return 0, fmt.Errorf("set aside: %w", eventlog.ErrTooLarge)
	}
	if k.room > 0 && len(more) > k.room {
		k.asides = append(k.asides, more[:k.room]...)
		return k.room, fmt.Errorf("set aside: %w", eventlog.ErrTooLarge)
	}
	k.asides = append(k.asides, more...)
	return len(more), nil
}

func (k *keeper) Append(ctx context.Context, e eventlog.Entry) (eventlog.Written, error) {
	e.Expected.Seq = max(e.Expected.Seq, k.last(e.Workflow))
	return k.Log.Append(ctx, e)
}

// withGarbage is the log of a workflow that has made a call, with a record that cannot be read before the
// call's.
func withGarbage(t *testing.T) (k *keeper, garbage, end uint64) {
	t.Helper()
	whole := memlog.New(memlog.Config{})
	e := enginetest.NewOn(t, whole).Start()
	e.MustDeploy(ordersWorkflow)
	e.MustPush("orders", "order.in", "a")
	e.Rest("orders")
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	k = &keeper{Log: memlog.New(memlog.Config{})}
	for r, err := range whole.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if garbage == 0 && slices.ContainsFunc(r.Facts, func(f eventlog.Fact) bool {
			return f.FactType() == "mutation.started"
		}) {
			garbage = k.PutRaw("orders", []byte("garbage")).Seq
		}
		stored, err := eventlog.Encode(r.Transition)
		if err != nil {
			t.Fatal(err)
		}
		end = k.PutRaw(r.Workflow, stored).Seq
	}
	if garbage == 0 {
		t.Fatal("no call was made")
	}
	return k, garbage, end
}

func (k *keeper) record(t *testing.T, lost loss.Loss) []loss.LostPast {
	t.Helper()
	lost.Actor, lost.At, lost.Cause = enginetest.Tester, eventlog.At(time.Unix(1700000000, 0)),
		eventlog.Cause{Kind: "test"}
	pasts, err := loss.Record(t.Context(), k, lost)
	if err != nil {
		t.Fatal(err)
	}
	return pasts
}

// What stands after a record that cannot be read is set aside, and the calls in it are named: they may have
// been sent. The workflow's past goes on before it, with its hold.
func TestLossSetsAside(t *testing.T) {
	t.Parallel()
	k, garbage, end := withGarbage(t)
	pasts := k.record(t, loss.Loss{})
	if len(pasts) != 1 || pasts[0].Broken || pasts[0].SetAside == nil || pasts[0].SetAside.From.Seq != garbage {
		t.Fatalf("found %+v, want what stands from %d on", pasts, garbage)
	}
	if text := pasts[0].SetAside.String(); !strings.Contains(text, "(mutation ") ||
		pasts[0].SetAside.Transitions != int(end-garbage)+1 {
		t.Errorf("it names no call, or not %d transitions: %s", end-garbage+1, text)
	}
	if want := []eventlog.Aside{{Workflow: "orders", From: garbage, To: end}}; !slices.Equal(k.asides, want) {
		t.Errorf("set aside %+v, want %+v", k.asides, want)
	}
	var last eventlog.Record
	for r, err := range k.Read(t.Context(), 0, end+1) {
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	if last.Kind != "workflow.loss_accepted" || last.Position.Seq != end+1 || last.Revision != garbage {
		t.Errorf("recorded %s at %s, revision %d; want the loss at %d, revision %d", last.Kind, last.Position, last.Revision,
			end+1, garbage)
	}
}

// An acceptance proves nothing of what came after it: where the end is lost once more, and with it all that stood
// behind the acceptance, the loss is recorded once more.
func TestLossBehindAnAcceptance(t *testing.T) {
	t.Parallel()
	k := &keeper{Log: memlog.New(memlog.Config{})}
	e := enginetest.NewOn(t, k.Log).Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if pasts := k.record(t, loss.Loss{End: true}); len(pasts) != 1 || pasts[0].Workflow != "orders" || !pasts[0].Asks {
			t.Fatalf("loss %d: found %+v, want orders, which asks", n+1, pasts)
		}
	}
	if pasts := k.record(t, loss.Loss{}); len(pasts) != 0 {
		t.Errorf("without a loss: found %+v", pasts)
	}
}

// A log that cannot remember what was set aside leaves the workflow out of service: nothing is recorded.
func TestLossThatCannotBeRemembered(t *testing.T) {
	t.Parallel()
	k, _, end := withGarbage(t)
	k.full = true
	if pasts := k.record(t, loss.Loss{}); len(pasts) != 1 || !pasts[0].Broken {
		t.Errorf("found %+v, want orders broken", pasts)
	}
	if last, err := k.Last(t.Context(), 0); err != nil || last != end {
		t.Errorf("the log ends at %d, %v, want %d", last, err, end)
	}
}

// Foreign messages of which the log can remember only some still stand in it.
func TestForeignMessagesThatCannotAllBeRemembered(t *testing.T) {
	t.Parallel()
	for room, broken := range map[int]bool{1: true, 2: false} {
		k := &keeper{Log: memlog.New(memlog.Config{}), room: room}
		for i := range 2 {
			k.PutRaw(eventlog.WorkflowName(fmt.Sprint("stranger", i)), []byte("garbage"))
		}
		pasts := k.record(t, loss.Loss{})
		if len(pasts) != 1 || pasts[0].Workflow != "" || pasts[0].SetAside.Transitions != 2 || pasts[0].Broken != broken {
			t.Errorf("with room for %d: %+v", room, pasts)
		}
	}
}

// A start that gives way to a lost end touches nothing else.
func TestLossOfOneWorkflowOnly(t *testing.T) {
	t.Parallel()
	k, _, _ := withGarbage(t)
	if pasts := k.record(t, loss.Loss{Only: true, Workflows: []eventlog.WorkflowName{"orders"}}); len(pasts) != 0 ||
		len(k.asides) != 0 {
		t.Errorf("found %+v, set aside %+v, want nothing: what cannot be followed needs a person", pasts, k.asides)
	}
	if pasts := k.record(t, loss.Loss{Only: true, Workflows: []eventlog.WorkflowName{"gone"}}); len(pasts) != 1 ||
		pasts[0].Workflow != "gone" {
		t.Errorf("found %+v, want gone", pasts)
	}
}

// After a loss that may concern the installation no named token opens anything: a revocation may be among
// what is missing. New ones do, and a name may be given again.
func TestLossRevokesTokens(t *testing.T) {
	t.Parallel()
	token := func(name eventlog.TokenName, n int) decide.CreateToken {
		return decide.CreateToken{Name: name, Role: eventlog.RoleViewer, Hash: fmt.Sprintf("%064x", n), Last4: "ABCD"}
	}
	for what, lost := range map[string]loss.Loss{
		"the end": {End: true}, "known to be short": {Only: true, Workflows: []eventlog.WorkflowName{eventlog.Installation}},
		"unreadable": {},
	} {
		k := &keeper{Log: memlog.New(memlog.Config{})}
		bench := enginetest.NewOn(t, k)
		e := bench.Start()
		for n, name := range []eventlog.TokenName{"ann", "ben", "cem"} {
			if err := e.CreateToken(t.Context(), enginetest.Tester, token(name, n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.RevokeToken(t.Context(), enginetest.Tester, "ben"); err != nil {
			t.Fatal(err)
		}
		if err := e.Stop(); err != nil {
			t.Fatal(err)
		}
		if what == "unreadable" {
			k.PutRaw(eventlog.Installation, []byte("garbage"))
		}
		for range 2 { // it may be repeated
			k.record(t, lost)
		}
		next := enginetest.NewOn(t, &passing{k}).Start()
		tokens, err := next.Tokens()
		if err != nil || len(tokens) != 0 {
			t.Errorf("%s: %+v, %v", what, tokens, err)
		}
		if err := next.CreateToken(t.Context(), enginetest.Tester, token("ann", 9)); err != nil {
			t.Errorf("%s: a new token: %v", what, err)
		}
		if _, ok, err := next.Token(fmt.Sprintf("%064x", 9)); !ok || err != nil {
			t.Errorf("%s: the new token: %t, %v", what, ok, err)
		}
		if err := next.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// passing is a keeper whose readers pass over what was set aside.
type passing struct{ *keeper }

func (p *passing) Read(ctx context.Context, partition int, from uint64) iter.Seq2[eventlog.Record, error] {
	return p.without(p.keeper.Read(ctx, partition, from))
}

func (p *passing) ReadWorkflow(ctx context.Context, w eventlog.WorkflowName, from uint64) iter.Seq2[eventlog.Record,
	error] {
	return p.without(p.keeper.ReadWorkflow(ctx, w, from))
}

func (p *passing) without(records iter.Seq2[eventlog.Record, error]) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range records {
			aside := slices.ContainsFunc(p.asides, func(a eventlog.Aside) bool {
				return a.Workflow == r.Workflow && a.From <= r.Position.Seq && r.Position.Seq <= a.To
			})
			if !aside && !yield(r, err) {
				return
			}
		}
	}
}

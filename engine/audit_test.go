package engine_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// Damage below the store's checkpoint, which a start does not read, is found by the check of the whole log: the
// workflow that lacks a record begins nothing new, by name, and the other one works on.
func TestDamageBelowTheCheckpointHolds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(eventlog.Record, error) (eventlog.Record, error, bool){
		"missing": func(r eventlog.Record, err error) (eventlog.Record, error, bool) {
			return r, err, r.Workflow != "orders" || r.Revision != 2
		},
		"the last is missing": func(r eventlog.Record, err error) (eventlog.Record, error, bool) {
			return r, err, r.Workflow != "orders" || r.Revision < 3
		},
		"unreadable": func(r eventlog.Record, err error) (eventlog.Record, error, bool) {
			if r.Workflow == "orders" && r.Revision == 2 {
				r.Facts, err = nil, fmt.Errorf("%w: garbage", eventlog.ErrUnreadable)
			}
			return r, err, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &readerLog{Log: memlog.New(memlog.Config{})}
			b := enginetest.NewOn(t, log)
			var said lines
			b.Logger = slog.New(slog.NewTextHandler(&said, nil))
			e := b.Start()
			e.MustDeploy(ordersWorkflow)
			e.MustDeploy(strings.Replace(ordersWorkflow, `"orders"`, `"bills"`, 1))
			e.MustPush("orders", "order.in", "a")
			e.Rest("orders")
			e.MustPush("bills", "order.in", "b0") // so that the checkpoint is not a damaged record
			e.Rest("bills")
			if err := e.Stop(); err != nil {
				t.Fatal(err)
			}
			log.change = change
			e = b.Start()
			if found := e.Damage(); found.Done || len(found.Problems) > 0 {
				t.Fatalf("found without a check: %+v", found)
			}
			e.HurryCheck()
			if err := e.CheckLog(t.Context()); err != nil {
				t.Fatal(err)
			}
			found := e.Damage()
			if !found.Done || len(found.Problems) != 1 || len(found.Workflows) != 1 || found.Workflows["orders"] == nil ||
				found.Workflows["orders"].Since == 0 {
				t.Fatalf("found %+v", found)
			}
			if said.count("the log of this workflow is damaged") != 1 {
				t.Errorf("said:\n%s", said.text.String())
			}
			before, _ := e.State("orders")
			e.MustPush("orders", "order.in", "b") // events still arrive
			e.MustPush("bills", "order.in", "b1")
			if s := e.Rest("bills"); s.Available() != 2 { // what it has sent on
				t.Errorf("bills did not work on: %+v", s.Workflow)
			}
			if s := e.Rest("orders"); s.Head.Revision != before.Head.Revision+1 || s.Available() != 2 || s.Current != "" {
				t.Errorf("orders has begun something: %+v", s.Workflow)
			}
			if wait, ok := e.Why("orders"); !ok || wait == nil || wait.Reason != decide.ReasonBlocked {
				t.Errorf("orders waits for %+v", wait)
			}
			log.change = nil
			if err := e.Stop(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A read that fails ends no check: it goes on with the other partitions, and comes back to that one.
func TestCheckOutlivesAReadThatFails(t *testing.T) {
	t.Parallel()
	log := &readerLog{Log: memlog.New(memlog.Config{})}
	b := enginetest.NewOn(t, log)
	e := b.Start()
	e.MustDeploy(ordersWorkflow)
	e.Rest("orders")
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	e = b.Start()
	var failed atomic.Bool
	log.change = func(r eventlog.Record, err error) (eventlog.Record, error, bool) {
		if failed.CompareAndSwap(false, true) {
			return r, errors.New("the broker is away"), true
		}
		return r, err, true
	}
	e.HurryCheck()
	if err := e.CheckLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := e.Damage(); !failed.Load() || !found.Done || len(found.Problems) > 0 {
		t.Errorf("failed %t, found %+v", failed.Load(), found)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
}

// Each problem is kept once, and no more of them than a person reads. A verification ends what was found before it
// began, and nothing that was found since.
func TestDamageIsBounded(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t).Start()
	e.ReportDamage("first")
	e.ReportDamage("first")
	if found := e.Damage(); !slices.Equal(found.Problems, []string{"first"}) || found.More != 0 {
		t.Errorf("%+v", found)
	}
	began := e.LastFinding()
	e.ReportDamage("meanwhile")
	var problems []string
	for i := range 300 {
		problems = append(problems, fmt.Sprintf("problem %d", i))
	}
	e.Verified(began, nil)
	if found := e.Damage(); !slices.Equal(found.Problems, []string{"meanwhile"}) {
		t.Errorf("%+v", found)
	}
	e.Verified(e.LastFinding(), problems)
	if found := e.Damage(); len(found.Problems) != 100 || found.Problems[0] != "problem 0" || found.More != 200 {
		t.Errorf("%d and %d more: %q", len(found.Problems), found.More, found.Problems)
	}
	e.Verified(e.LastFinding(), nil)
	if found := e.Damage(); len(found.Problems) != 0 || found.More != 0 {
		t.Errorf("%+v", found)
	}
}

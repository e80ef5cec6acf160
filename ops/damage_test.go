package ops

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/projections/readmodel"
)

func (b *bundle) logHealth() logHealth {
	b.t.Helper()
	var d diagnosticsAnswer
	b.do("getDiagnostics", nil, &d)
	return d.Log
}

// holedLog does not hold some revisions of a workflow while it is told to.
type holedLog struct {
	eventlog.Log
	without atomic.Pointer[func(revision uint64) bool]
}

func (l *holedLog) leaving(records iter.Seq2[eventlog.Record, error]) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for record, err := range records {
			if without := l.without.Load(); without != nil && err == nil && (*without)(record.Revision) {
				continue
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

func (l *holedLog) ReadWorkflow(ctx context.Context, w eventlog.WorkflowName, from uint64) iter.Seq2[eventlog.Record,
	error] {
	return l.leaving(l.Log.ReadWorkflow(ctx, w, from))
}

func (l *holedLog) Read(ctx context.Context, partition int, from uint64) iter.Seq2[eventlog.Record, error] {
	return l.leaving(l.Log.Read(ctx, partition, from))
}

// TestDamageShown: damage that a fold has met is named there and stands in the diagnostics, until a
// check of the whole log finds nothing.
func TestDamageShown(t *testing.T) {
	t.Parallel()
	log := &holedLog{Log: memlog.New(memlog.Config{})}
	b := setupOn(t, log)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a")
	b.engine.Rest("shop")
	if health := b.logHealth(); !health.OK || health.Problems == nil || len(health.Problems) > 0 {
		t.Errorf("before: %+v", health)
	}
	state, _ := b.engine.State("shop")
	head := state.Head.Revision
	for name, c := range map[string]struct {
		without func(uint64) bool
		at      map[string]any
		says    string
	}{
		"a hole": {func(r uint64) bool {
			return r == 3
		}, map[string]any{"workflow": "shop", "at": 5}, "shop: record"},
		"the last is lost": {func(r uint64) bool {
			return r == head
		}, map[string]any{"workflow": "shop"}, fmt.Sprintf("shop ends at revision %d", head-1)},
		"its end is lost": {func(r uint64) bool {
			return r > 4
		}, map[string]any{"workflow": "shop", "at": 5}, "shop ends at revision 4"},
	} {
		log.without.Store(&c.without)
		p := b.refused("getState", c.at)
		if p.Status != 500 || p.Code != "log.damaged" || !strings.Contains(p.Detail, c.says) ||
			!strings.Contains(p.Hint, "pawl verify") {
			t.Errorf("%s: %+v", name, p)
		}
		if health := b.logHealth(); health.OK || !slices.Equal(health.Problems, []string{p.Detail}) {
			t.Errorf("%s: diagnostics say %+v after %s", name, health, p.Detail)
		}
		log.without.Store(nil)
		if health := b.logHealth(); health.OK {
			t.Errorf("%s: forgotten without a check", name)
		}
		var v replay.Verification
		b.do("verifyLog", nil, &v)
		if health := b.logHealth(); !v.OK || !health.OK {
			t.Errorf("%s: verify says %+v, diagnostics %+v", name, v, health)
		}
	}
	if p := b.refused("getState", map[string]any{"workflow": "shop", "at": head + 1}); p.Code != "revision.unknown" {
		t.Errorf("a revision that never was: %+v", p)
	}
}

// A clean check of the whole log ends what an earlier look at it had found, without a restart.
func TestDamageEndsWithACleanVerification(t *testing.T) {
	t.Parallel()
	log := &holedLog{Log: memlog.New(memlog.Config{})}
	b := setupOn(t, log)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a")
	b.engine.Rest("shop")
	hole := func(r uint64) bool { return r == 3 }
	log.without.Store(&hole)
	b.engine.HurryCheck()
	if err := b.engine.CheckLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	var v replay.Verification
	b.do("verifyLog", nil, &v)
	if _, p := b.server.readyz(t.Context()); v.OK || p == nil || p.Code != "log.damaged" {
		t.Errorf("verify says %+v, readyz %+v", v, p)
	}
	log.without.Store(nil) // as a storage that answers whole again
	b.do("verifyLog", nil, &v)
	if _, p := b.server.readyz(t.Context()); !v.OK || p != nil {
		t.Errorf("verify says %+v, readyz %+v", v, p)
	}
	var why explain.Why
	b.do("explainWorkflow", map[string]any{"workflow": "shop"}, &why)
	if why.Attention != nil || strings.Contains(why.Message, "damage") {
		t.Errorf("why says %+v", why)
	}
	b.push("shop", "b")
	b.engine.Rest("shop")
	var page readmodel.Page[readmodel.Event]
	b.do("listWorkflowEvents", map[string]any{"workflow": "shop", "status": "consumed"}, &page)
	if len(page.Items) != 2 {
		t.Errorf("it does not go on: %+v", page.Items)
	}
}

// What a damaged workflow answers to run-now is what why says (S5), and diagnostics say whether the log was checked.
func TestS5_RunNowOfADamagedWorkflow(t *testing.T) {
	t.Parallel()
	log := &holedLog{Log: memlog.New(memlog.Config{})}
	b := setupOn(t, log)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a")
	b.engine.Rest("shop")
	if b.logHealth().Checked {
		t.Error("checked before a check")
	}
	hole := func(r uint64) bool { return r == 3 }
	log.without.Store(&hole)
	b.engine.HurryCheck()
	if err := b.engine.CheckLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	log.without.Store(nil)
	if health := b.logHealth(); !health.Checked || health.OK {
		t.Errorf("after the check: %+v", health)
	}
	var answer struct{ Producers []QueuedProducer }
	b.do("runWorkflow", map[string]any{"workflow": "shop"}, &answer)
	var why explain.Why
	b.do("explainWorkflow", map[string]any{"workflow": "shop"}, &why)
	if p := answer.Producers[0]; p.Behind == nil || p.Behind.Message != why.Message ||
		!slices.Equal(p.Behind.Commands, why.Commands) {
		t.Errorf("run-now says %+v, why says %+v", p.Behind, why)
	}
}

package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/memlog"
)

// waiting brings a workflow to a wait.
type waiting struct {
	name   string
	reason decide.Reason
	bring  func(*life)
	says   string // a part of what `why` says
	// commands is how many `why` offers, so that none goes unseen.
	commands int
	// good is what a deploy or repair that is offered puts in.
	good shop
	// maxHeld is how many events of a consumer may be held; 0 means 1,000.
	maxHeld int
}

var listing = shop{prepare: `await ctx.world.list({});`}

// failing brings it to a failure of the class in a read.
func failing(class eventlog.Class) func(*life) {
	return func(l *life) {
		l.reads(class)
		l.deploy(listing)
		l.push("a")
	}
}

var waits = []waiting{
	{"nothing to do", decide.ReasonIdle, func(l *life) { l.deploy(shop{}) }, "no event waits", 0, shop{}, 0},
	{"nothing that a consumer wants", decide.ReasonIdle, func(l *life) {
		l.deploy(shop{prepare: `return { reservations: [], data: null };`})
		l.push("a")
	}, "1 of its events still waits: no consumer took it", 1, shop{}, 0},
	{"a producer's time", decide.ReasonScheduled, func(l *life) {
		l.deploy(shop{producer: `await ctx.world.list({});`})
	}, "producer poll runs by itself at 2026-03-01T09:00:00Z", 1, shop{}, 0},
	{"wakeAt", decide.ReasonWake, func(l *life) {
		l.deploy(shop{prepare: `return { reservations: [], data: null, wakeAt: "2026-03-01T08:10:00Z" };`})
		l.push("a")
	}, "consumer send looks again by itself at 2026-03-01T08:10:00Z", 0, shop{}, 0},
	{"a backoff", decide.ReasonBackoff, failing(eventlog.Transient),
		"of consumer send (“the world says world.unreadable”)", 2, shop{}, 0},
	{"a backoff after a mutation", decide.ReasonBackoff, func(l *life) {
		l.deploy(shop{mutate: `/* nothing to send */`})
		l.isSlowAt("run.prepared")
		l.push("a")
	}, "only next is run again", 3, shop{}, 0},
	{"a job's retry time", decide.ReasonBackoff, func(l *life) {
		l.deploy(shop{options: "maxAttempts: 3,"})
		l.sends(definitely(eventlog.Logic))
		l.push("a")
	}, `event "a" of topic orders may be tried again`, 3, shop{}, 0},
	{"a person's pause", decide.ReasonUserPause, func(l *life) {
		l.deploy(shop{})
		l.do("pauseWorkflow", nil)
	}, "shop was paused by ann at 2026-03-01T08:00:00Z", 2, shop{}, 0},
	{"approval", decide.ReasonApproval, func(l *life) {
		l.asking(shop{})
	}, `(world.send: “Send a”) for event "a" (“Order a”) of topic orders awaits approval`, 3, shop{}, 0},
	{"approval under a pause", decide.ReasonApproval, func(l *life) {
		l.asking(shop{})
		l.do("pauseWorkflow", nil)
	}, "once the workflow is resumed", 3, shop{}, 0},
	{"a reconcile", decide.ReasonReconcile, func(l *life) {
		l.deploy(shop{})
		l.sends(lost)
		l.reconciles(connector.VerdictRetry)
		l.push("a")
	}, "asks its connector again at", 1, shop{}, 0},
	{"an unknown outcome", decide.ReasonIndeterminate, func(l *life) {
		l.deploy(shop{mutate: fires})
		l.indeterminate()
	}, "it is not known whether it was applied", 4, shop{}, 0},
	{"an outcome not yet known", decide.ReasonIndeterminate, func(l *life) {
		l.deploy(shop{})
		l.sends(lost)
		l.reconciles(connector.VerdictRetry)
		l.push("a")
		l.advance("1h")
	}, "Its connector can also be asked again", 5, shop{}, 0},
	{"a repair", decide.ReasonMaintenance, func(l *life) {
		l.deploy(shop{prepare: broken("read")})
		l.push("a")
	}, "It was consumer send of version 1.0, line", 4, shop{}, 0},
	{"a repair after a mutation", decide.ReasonMaintenance, func(l *life) {
		l.deploy(shop{next: broken("publish")})
		l.push("a")
	}, "the repaired script goes on with next", 3, shop{}, 0},
	{"auth", decide.ReasonBlocked, failing(eventlog.Auth), "(auth): “the world says world.unreadable", 2, shop{}, 0},
	{"permission", decide.ReasonBlocked, failing(eventlog.Permission), "Grant what it needs", 3, shop{}, 0},
	{"precondition", decide.ReasonBlocked, failing(eventlog.Precondition), "the state that the call needs", 2, shop{}, 0},
	{"precondition of a call", decide.ReasonBlocked, func(l *life) {
		l.deploy(shop{})
		l.sends(definitely(eventlog.Precondition))
		l.push("a")
	}, `The run was for event "a" (“Order a”) of topic orders, which waits again.`, 3, shop{}, 0},
	{"a tool that has changed", decide.ReasonBlocked, func(l *life) {
		l.deploy(shop{})
		l.close()
		l.world.Offer(connector.Operation{Name: "send", Kind: connector.Mutate}) // it used to reconcile
		l.boot()
		l.push("a")
	}, "Deploy the script again to accept that", 4, shop{}, 0},
	{"a tool that has changed, after the deploy", decide.ReasonBlocked, func(l *life) {
		l.deploy(shop{})
		l.close()
		l.world.Offer(connector.Operation{Name: "send", Kind: connector.Mutate}) // it used to reconcile
		l.boot()
		l.push("a")
		l.advance("1s")
		l.deploy(shop{})
	}, "The script has been deployed since (2.0): pawl resume ", 3, shop{}, 0},
	{"internal", decide.ReasonBlocked, failing(eventlog.Internal), "a fault of Pawl or of a connector", 2, shop{}, 0},
	{"retries without end", decide.ReasonBackoff, func(l *life) {
		failing(eventlog.Transient)(l)
		l.advance("1h")
	}, "It needs attention since 2026-03-01T08:00:15Z: it goes on trying by itself", 2, shop{}, 0},
	{"exhausted repairs", decide.ReasonBlocked, func(l *life) {
		l.deploy(shop{prepare: broken("read")})
		l.push("a")
		l.refused("repair.refused", "repairWorkflow", "source", "no script")
		l.refused("repair.refused", "repairWorkflow", "source", "no script")
	}, "deploy a corrected script", 3, shop{}, 0},
	{"a contradiction", decide.ReasonBlocked, func(l *life) {
		reply := l.replyLate()
		l.do("resolveMutation", nil, "mutation", l.mutation().ID, "resolution", "skip")
		l.rest()
		changed := l.follow("mutation.contradicted")
		reply <- connector.Outcome{Status: connector.Applied}
		changed()
		l.rest()
	}, "A late answer differs", 4, shop{}, 0},
	{"an accepted loss", decide.ReasonBlocked, func(l *life) {
		l.deploy(shop{})
		l.close()
		lost := loss.Loss{Actor: enginetest.Tester, At: eventlog.At(l.clock.Now()),
			Cause: eventlog.Cause{Kind: "api", ID: "acceptLoss"}, Detail: "the disk", End: true}
		if _, err := loss.Record(l.t.Context(), l.below, lost); err != nil {
			l.t.Fatal(err)
		}
		l.boot()
		l.rest()
	}, "accepted as lost", 1, shop{}, 0},
	{"storage", decide.ReasonStorage, func(l *life) {
		l.deploy(shop{})
		l.do("pauseWorkflow", nil)
		l.push("a")
		l.full.Store(true)
		l.do("resumeWorkflow", nil)
		l.untilStorage()
	}, "too little free space", 1, shop{}, 0},
	{"the archive", decide.ReasonArchived, func(l *life) {
		l.deploy(shop{})
		l.do("archiveWorkflow", nil)
	}, "stopped for good", 0, shop{}, 0},
	{"the archive, with events", decide.ReasonArchived, func(l *life) {
		l.deploy(shop{prepare: `return { reservations: [], data: null };`})
		l.push("a", "b")
		l.do("archiveWorkflow", nil)
	}, "2 of its events are pending, and no run will take them", 2, shop{}, 0},
	{"the archive, after a mutation", decide.ReasonArchived, func(l *life) {
		l.deploy(shop{next: broken("publish")})
		l.push("a")
		l.do("archiveWorkflow", nil)
	}, "1 of its events is held by run", 2, shop{}, 0},
}

// untilStorage waits until the worker has met the full disk.
func (l *life) untilStorage() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if w := l.why(); w.Reason != nil && *w.Reason == decide.ReasonStorage {
			return
		}
	}
	l.t.Fatal("the worker does not mind the full disk")
}

// Every reason to wait is reached, told, and every command that is offered is accepted there.
func TestEveryReason(t *testing.T) {
	reached := map[decide.Reason]bool{}
	for _, w := range slices.Concat(waits, waitsOfMany) {
		reached[w.reason] = true
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			l := liveUnder(t, w.narrow)
			for i, command := range w.look(l) {
				if looks(command) {
					l.command(command)
					continue
				}
				if testing.Short() {
					continue // each needs a life of its own
				}
				// It may end the wait, so each gets a life of its own.
				t.Run(fmt.Sprintf("command %d", i), func(t *testing.T) {
					l := liveOn(t, memlog.New(memlog.Config{}), w.narrow)
					l.good = w.good
					l.command(w.look(l)[i])
					l.rest()
					l.sound()
				})
			}
		})
	}
	// What is no wait: the log cannot be followed, and the runs that have all places of a consumer are moving. A log is
	// restored before an engine is there (ops/backup, and the script backup of cmd/pawl). One engine owns everything.
	elsewhere := []decide.Reason{decide.ReasonNoWorker, decide.ReasonPlaces, decide.ReasonCall, decide.ReasonRestored,
		decide.ReasonNoOwner}
	for _, reason := range decide.Reasons() {
		if !reached[reason] && !slices.Contains(elsewhere, reason) {
			t.Errorf("nothing brings a workflow to wait for %q", reason)
		}
	}
}

// narrow lets a test reach what else takes long, or many events.
func (w waiting) narrow(p *schedule.Policies) {
	p.Storage.Wait = storageWait
	if w.maxHeld != 0 {
		p.Held.Max = w.maxHeld
	}
}

// look brings a workflow to the wait, checks what is said of it, and returns the commands.
func (w waiting) look(l *life) []string {
	l.t.Helper()
	w.bring(l)
	why := l.why()
	if why.Reason == nil || *why.Reason != w.reason || why.Moving {
		l.t.Fatalf("it waits for %v, want %s: %s", why.Reason, w.reason, why.Message)
	}
	if !strings.Contains(why.Message, w.says) || strings.Contains(why.Message, "..") ||
		!strings.HasSuffix(why.Message, ".") {
		l.t.Errorf("it does not say %q: %s", w.says, why.Message)
	}
	if len(why.Commands) != w.commands {
		l.t.Errorf("%d commands, want %d: %q", len(why.Commands), w.commands, why.Commands)
	}
	return why.Commands
}

// errFull is a disk without room for new work.
var errFull = errors.New("2 MiB are free, 64 MiB are needed")

// room says whether new work may start.
func room(full *atomic.Bool) func() error {
	return func() error {
		if full.Load() {
			return errFull
		}
		return nil
	}
}

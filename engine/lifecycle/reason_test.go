package lifecycle_test

import (
	"context"
	"encoding/json"
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
	"github.com/pawl-run/pawl/ops/replay"
)

// waiting brings a workflow to a wait.
type waiting struct {
	name   string
	reason decide.Reason
	bring  func(*life)
	says   string // a part of what `why` says
	// commands is how many `why` offers, so that none goes unseen.
	commands int
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
	{"nothing to do", decide.ReasonIdle, func(l *life) { l.deploy(shop{}) }, "no event waits", 0},
	{"nothing that a consumer wants", decide.ReasonIdle, func(l *life) {
		l.deploy(shop{prepare: `return { reservations: [], data: null };`})
		l.push("a")
	}, "1 of its events still waits: no consumer took it", 1},
	{"a producer's time", decide.ReasonScheduled, func(l *life) {
		l.deploy(shop{producer: `await ctx.world.list({});`})
	}, "producer poll runs by itself at 2026-03-01T09:00:00Z", 1},
	{"wakeAt", decide.ReasonWake, func(l *life) {
		l.deploy(shop{prepare: `return { reservations: [], data: null, wakeAt: "2026-03-01T08:10:00Z" };`})
		l.push("a")
	}, "consumer send looks again by itself at 2026-03-01T08:10:00Z", 0},
	{"a backoff", decide.ReasonBackoff, failing(eventlog.Transient), "of consumer send (the world says world.unreadable)",
		2},
	{"a backoff after a mutation", decide.ReasonBackoff, func(l *life) {
		l.deploy(shop{mutate: `/* nothing to send */`})
		l.isSlowAt("run.prepared")
		l.push("a")
	}, "only next is run again", 3},
	{"a job's retry time", decide.ReasonBackoff, func(l *life) {
		l.deploy(shop{options: "maxAttempts: 3,"})
		l.sends(definitely(eventlog.Logic))
		l.push("a")
	}, `event "a" of topic orders may be tried again`, 3},
	{"a person's pause", decide.ReasonUserPause, func(l *life) {
		l.deploy(shop{})
		l.do("pauseWorkflow", nil)
	}, "shop was paused by ann at 2026-03-01T08:00:00Z", 2},
	{"approval", decide.ReasonApproval, func(l *life) {
		l.asking(shop{})
	}, `(world.send: Send a) for event "a" (Order a) of topic orders awaits approval`, 3},
	{"approval under a pause", decide.ReasonApproval, func(l *life) {
		l.asking(shop{})
		l.do("pauseWorkflow", nil)
	}, "once the workflow is resumed", 3},
	{"a reconcile", decide.ReasonReconcile, func(l *life) {
		l.deploy(shop{})
		l.sends(lost)
		l.reconciles(connector.VerdictRetry)
		l.push("a")
	}, "asked again by itself at", 1},
	{"an unknown outcome", decide.ReasonIndeterminate, func(l *life) {
		l.deploy(shop{mutate: fires})
		l.indeterminate()
	}, "it is not known whether it was applied", 4},
	{"an outcome not yet known", decide.ReasonIndeterminate, func(l *life) {
		l.deploy(shop{})
		l.sends(lost)
		l.reconciles(connector.VerdictRetry)
		l.push("a")
		l.advance("1h")
	}, "Its connector can also be asked again", 5},
	{"a repair", decide.ReasonMaintenance, func(l *life) {
		l.deploy(shop{prepare: broken("read")})
		l.push("a")
	}, "It was consumer send of version 1.0, line", 4},
	{"a repair after a mutation", decide.ReasonMaintenance, func(l *life) {
		l.deploy(shop{next: broken("publish")})
		l.push("a")
	}, "the repaired script goes on with next", 3},
	{"auth", decide.ReasonBlocked, failing(eventlog.Auth), "(auth): the world says world.unreadable", 2},
	{"permission", decide.ReasonBlocked, failing(eventlog.Permission), "Grant what it needs", 3},
	{"precondition", decide.ReasonBlocked, failing(eventlog.Precondition), "the state that the call needs", 2},
	{"precondition of a call", decide.ReasonBlocked, func(l *life) {
		l.deploy(shop{})
		l.sends(definitely(eventlog.Precondition))
		l.push("a")
	}, `The run was for event "a" (Order a) of topic orders, which waits again.`, 3},
	{"a tool that has changed", decide.ReasonBlocked, func(l *life) {
		l.deploy(shop{})
		l.close()
		l.world.Offer(connector.Operation{Name: "send", Kind: connector.Mutate}) // it used to reconcile
		l.boot()
		l.push("a")
	}, "Deploy the script again to accept the tool", 4},
	{"internal", decide.ReasonBlocked, failing(eventlog.Internal), "a fault of Pawl or of a connector", 2},
	{"retries without end", decide.ReasonBackoff, func(l *life) {
		failing(eventlog.Transient)(l)
		l.advance("1h")
	}, "It needs attention since 2026-03-01T08:00:15Z: it goes on trying by itself", 2},
	{"exhausted repairs", decide.ReasonBlocked, func(l *life) {
		l.deploy(shop{prepare: broken("read")})
		l.push("a")
		l.refused("repair.refused", "repairWorkflow", "source", "no script")
		l.refused("repair.refused", "repairWorkflow", "source", "no script")
	}, "deploy a corrected script", 3},
	{"a contradiction", decide.ReasonBlocked, func(l *life) {
		reply := l.replyLate()
		l.do("resolveMutation", nil, "mutation", l.mutation().ID, "resolution", "skip")
		l.rest()
		changed := l.follow("mutation.contradicted")
		reply <- connector.Outcome{Status: connector.Applied}
		changed()
		l.rest()
	}, "A late answer differs", 4},
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
	}, "accepted as lost", 1},
	{"storage", decide.ReasonStorage, func(l *life) {
		l.deploy(shop{})
		l.do("pauseWorkflow", nil)
		l.push("a")
		l.full.Store(true)
		l.do("resumeWorkflow", nil)
		l.untilStorage()
	}, "too little free space", 1},
	{"the archive", decide.ReasonArchived, func(l *life) {
		l.deploy(shop{})
		l.do("archiveWorkflow", nil)
	}, "stopped for good", 0},
	{"the archive, with events", decide.ReasonArchived, func(l *life) {
		l.deploy(shop{prepare: `return { reservations: [], data: null };`})
		l.push("a", "b")
		l.do("archiveWorkflow", nil)
	}, "2 of its events are pending, and no run will take them", 2},
	{"the archive, after a mutation", decide.ReasonArchived, func(l *life) {
		l.deploy(shop{next: broken("publish")})
		l.push("a")
		l.do("archiveWorkflow", nil)
	}, "1 of its events is held by run", 2},
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
	for _, w := range waits {
		reached[w.reason] = true
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			l := liveUnder(t, slowStorage)
			for i, command := range w.look(l) {
				if looks(command) {
					l.command(command)
					continue
				}
				// It may end the wait, so each gets a life of its own.
				t.Run(fmt.Sprintf("command %d", i), func(t *testing.T) {
					l := liveOn(t, memlog.New(memlog.Config{}), slowStorage)
					l.command(w.look(l)[i])
					l.rest()
					l.sound()
				})
			}
		})
	}
	// What is no wait: the log cannot be followed. What only decide.Standings names, of concurrent consumers.
	elsewhere := []decide.Reason{
		decide.ReasonNoWorker, decide.ReasonPlaces, decide.ReasonRate, decide.ReasonProbing, decide.ReasonUncertain,
		decide.ReasonHeldMost, decide.ReasonHeld,
	}
	for _, reason := range decide.Reasons() {
		if !reached[reason] && !slices.Contains(elsewhere, reason) {
			t.Errorf("nothing brings a workflow to wait for %q", reason)
		}
	}
}

func slowStorage(p *schedule.Policies) { p.Storage.Wait = storageWait }

// looks says whether a command changes nothing.
func looks(command string) bool {
	for _, word := range []string{" show ", " list ", " log ", " grants ", " verify"} {
		if strings.Contains(command, word) {
			return true
		}
	}
	return false
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

// command carries out a command line through the operation that it stands for.
func (l *life) command(line string) {
	l.t.Helper()
	words := strings.Fields(line)
	flags := map[string]any{}
	var args []string
	for i := 1; i < len(words); i++ {
		switch name, ok := strings.CutPrefix(words[i], "--"); {
		case !ok:
			args = append(args, words[i])
		case i+1 < len(words) && (name == "workflow" || name == "status" || name == "state" || name == "where" ||
			name == "topic"):
			i++
			flags[name] = words[i]
		default:
			flags[name] = true
		}
	}
	subject := func(n int) string { // an argument that must be there
		if n >= len(args) {
			l.t.Fatalf("%q lacks an argument", line)
		}
		return args[n]
	}
	one := strings.Join(args[:min(2, len(args))], " ")
	switch {
	case args[0] == "deploy":
		l.do("deployWorkflow", nil, "source", shop{}.source(), "filename", "shop.ts")
	case args[0] == "repair":
		l.do("repairWorkflow", nil, "workflow", subject(1), "source", shop{}.source())
	case args[0] == "resolve":
		for flag, resolution := range map[string]string{"happened": "did_happen", "did-not-happen": "did_not_happen",
			"skip": "skip", "try-again": "try_again"} {
			if flags[flag] == true {
				l.do("resolveMutation", nil, "mutation", subject(1), "resolution", resolution)
				return
			}
		}
		l.t.Fatalf("%q resolves nothing", line)
	case args[0] == "approve", args[0] == "reject":
		l.do(args[0]+"Mutation", nil, "mutation", subject(1))
	case args[0] == "resume":
		l.do("resumeWorkflow", nil, "workflow", subject(1))
	case args[0] == "run-now":
		l.do("runWorkflow", nil, "workflow", subject(1))
	case args[0] == "grants":
		l.do("getGrants", nil, "workflow", subject(1))
	case flags["where"] != nil:
		var done struct{ Updated int }
		filter, value, _ := strings.Cut(flags["where"].(string), "=")
		if l.do(args[0]+"Events", &done, "workflow", subject(1), filter, value); done.Updated == 0 {
			l.t.Errorf("%q changes nothing", line)
		}
	case args[0] == "cancel", args[0] == "skip":
		l.do(args[0]+"Event", nil, "workflow", subject(1), "topic", subject(2), "messageId", subject(3))
	case args[0] == "verify":
		var v replay.Verification
		if l.do("verifyLog", &v); !v.OK {
			l.t.Errorf("verify: %+v", v)
		}
	case args[0] == "log":
		l.do("readLog", nil, "workflow", flags["workflow"])
	case one == "mutations show":
		l.do("getMutation", nil, "mutation", subject(2))
	case one == "runs show" && flags["evidence"] == true:
		var evidence struct{ Error, Maintenance any }
		l.do("getEvidence", &evidence, "workflow", subject(2), "run", subject(3))
		if evidence.Error == nil {
			l.t.Errorf("%q shows no error: %+v", line, evidence)
		}
	case one == "runs show":
		l.do("getRun", nil, "workflow", subject(2), "run", subject(3))
	case one == "jobs show":
		l.do("getJob", nil, "workflow", subject(2), "topic", subject(3), "messageId", subject(4))
	case one == "jobs list", one == "events list":
		var page struct{ Items []json.RawMessage }
		id := map[string]string{"jobs": "listWorkflowJobs", "events": "listWorkflowEvents"}[args[0]]
		params := []any{}
		for name, value := range flags {
			params = append(params, name, value)
		}
		if l.do(id, &page, params...); len(page.Items) == 0 {
			l.t.Errorf("%q lists nothing", line)
		}
	default:
		l.t.Fatalf("no operation is known for %q", line)
	}
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

package main

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// wound is a stopped installation that a test damages.
type wound struct {
	t   *testing.T
	dir string
}

func (w wound) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir, "data"}, parts...)...)
}

// inLog gives a test the log and its stream, without an engine.
func (w wound) inLog(do func(*jslog.Log, jetstream.JetStream)) {
	w.t.Helper()
	server := natstest.NewServer(w.t, natstest.InDir(w.path()))
	nc := natstest.Connect(w.t, server)
	log, err := jslog.Open(w.t.Context(), nc, jslog.Config{Mark: w.path(datadir.MarkFile), EmbeddedSync: true,
		BatchFrom: 2})
	if err != nil {
		w.t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	do(log, js)
	if err := log.Close(); err != nil {
		w.t.Fatal(err)
	}
	nc.Close()
	server.Shutdown()
}

// put stores bytes on a subject of the log, as a foreign writer would.
func (w wound) put(subject string, stored []byte) {
	w.t.Helper()
	w.inLog(func(_ *jslog.Log, js jetstream.JetStream) {
		if _, err := js.Publish(w.t.Context(), subject, stored); err != nil {
			w.t.Fatal(err)
		}
	})
}

// past is the records of a workflow.
func (w wound) past(log *jslog.Log, name eventlog.WorkflowName) (all []eventlog.Record) {
	w.t.Helper()
	for r, err := range log.ReadWorkflow(w.t.Context(), name, 1) {
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// entry is a transition of the workflow at a head.
func (w wound) entry(name eventlog.WorkflowName, head eventlog.Head, facts ...eventlog.Fact) eventlog.Entry {
	w.t.Helper()
	e, err := eventlog.NewEntry(eventlog.Transition{
		ID: eventlog.TransitionID(rand.Text()), Workflow: name, At: eventlog.At(time.Now()), Actor: eventlog.System,
		Cause: eventlog.Cause{Kind: "test"}, Kind: facts[0].FactType(), Facts: facts,
	}, head)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// more records transitions of the workflow with an engine.
func (w wound) more(name string, args ...string) {
	w.t.Helper()
	d := startDaemon(w.t, w.dir, "pawl", append([]string{"serve", "--data", "data"}, args...)...)
	for range 3 {
		d.call(http.StatusOK, http.MethodPost, "/v1/workflows/"+name+"/pause", nil)
		d.call(http.StatusOK, http.MethodPost, "/v1/workflows/"+name+"/resume", nil)
	}
	d.stop()
}

func (w wound) block(change func([]byte) []byte) {
	w.t.Helper()
	damage(w.t, w.dir, change)
}

func (w wound) noIndex() { remove(w.t, w.dir, filepath.FromSlash(logFolder), "msgs", "index.db") }

// asBefore brings the log back to what it was before do, and leaves the local store as it is after.
func (w wound) asBefore(do func(), files ...string) {
	w.t.Helper()
	kept := w.t.TempDir()
	if err := os.CopyFS(filepath.Join(kept, "jetstream"), os.DirFS(w.path("jetstream"))); err != nil {
		w.t.Fatal(err)
	}
	for _, name := range files {
		content, err := os.ReadFile(w.path(name))
		if err != nil {
			w.t.Fatal(err)
		}
		defer func() { write(w.t, w.path(name), string(content)) }()
	}
	do()
	remove(w.t, w.path("jetstream"))
	if err := os.CopyFS(w.path("jetstream"), os.DirFS(filepath.Join(kept, "jetstream"))); err != nil {
		w.t.Fatal(err)
	}
}

// named finds a command in what the program printed, as a person would.
func named(t *testing.T, out, command string) []string {
	t.Helper()
	found := regexp.MustCompile(`\bpawl ` + command + `[a-z-]*`).FindString(out)
	if found == "" {
		t.Fatalf("it names no command `pawl %s`:\n%s", command, out)
	}
	return append(strings.Fields(found), "--data", "data")
}

// TestDamageLeadsOut follows, for each kind of damage, the commands that each text names, from the first
// refusal to an engine that runs, with what is unproven held and everything else at work.
func TestDamageLeadsOut(t *testing.T) {
	long(t)
	t.Parallel()
	original := recorded(t)
	for name, c := range map[string]struct {
		damage func(wound)
		// starts: the engine starts all the same, without the workflow.
		starts bool
		says   string
		held   []string
	}{
		"missing records": {damage: func(w wound) {
			w.block(func(b []byte) []byte { clear(b[len(b)/4 : len(b)*3/4]); return b })
			w.noIndex()
		}, says: `lacks the messages \d+-\d+`, held: []string{"late"}}, // it lacks as many revisions
		"the second half is gone": {damage: func(w wound) {
			w.block(func(b []byte) []byte { return b[:len(b)/2] })
			w.noIndex()
			remove(w.t, w.path("store"))
		}, says: `lacks the messages \d+-\d+`, held: []string{"early", "late"}}, // whose it was is not known
		"a record missing in the middle": {damage: func(w wound) {
			w.block(func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
			remove(w.t, w.path("store"))
		}, says: `lacks the messages \d+`, held: []string{"late"}}, // it lacks as many revisions
		"a lost tail": {damage: func(w wound) {
			w.block(func(b []byte) []byte { return b[:len(b)-200] })
		}, says: `lacks the messages \d+`, held: []string{"late"}}, // the store knows whose it is
		"an unreadable record": {damage: func(w wound) {
			w.put("pawl.log.0.late.run.prepared", []byte("no transition"))
		}, starts: true, says: `late .*out of service.*cannot be read`, held: []string{"late"}},
		"an unreadable record, the store is gone": {damage: func(w wound) {
			w.put("pawl.log.0.late.run.prepared", []byte("no transition"))
			remove(w.t, w.path("store"))
		}, starts: true, says: `late .*out of service.*cannot be read`, held: []string{"late"}},
		"a record of a type that is not known": {damage: func(w wound) {
			w.inLog(func(log *jslog.Log, js jetstream.JetStream) {
				past := w.past(log, "late")
				e := w.entry("late", past[len(past)-1].Head(), &eventlog.WorkflowPaused{})
				stored := strings.Replace(string(e.Stored), "\xafworkflow.paused\x01", "\xafworkflow.dreamt\x01", 1)
				if _, err := js.Publish(w.t.Context(), "pawl.log.0.late.workflow.paused", []byte(stored)); err != nil {
					w.t.Fatal(err)
				}
			})
		}, starts: true, says: `late .*out of service.*unknown fact type "workflow.dreamt"`, held: []string{"late"}},
		"a record that follows another past": {damage: func(w wound) {
			w.inLog(func(log *jslog.Log, js jetstream.JetStream) {
				past := w.past(log, "late")
				head := past[len(past)-1].Head()
				head.Hash = eventlog.HashOf([]byte("another past"))
				e := w.entry("late", head, &eventlog.WorkflowPaused{})
				if _, err := js.Publish(w.t.Context(), "pawl.log.0.late.workflow.paused", e.Stored); err != nil {
					w.t.Fatal(err)
				}
			})
		}, starts: true, says: `late .*out of service.*hash chain`, held: []string{"late"}},
		"a record that cannot be folded": {damage: func(w wound) {
			w.inLog(func(log *jslog.Log, _ jetstream.JetStream) {
				past := w.past(log, "late")
				head, err := log.Append(w.t.Context(),
					w.entry("late", past[len(past)-1].Head(), &eventlog.RunCommitted{Run: "none"}))
				if err != nil {
					w.t.Fatal(err)
				}
				if _, err := log.Append(w.t.Context(), w.entry("late", head.Head, &eventlog.WorkflowPaused{})); err != nil {
					w.t.Fatal(err)
				}
			})
		}, starts: true, says: `late .*out of service.*cannot be folded`, held: []string{"late"}},
		"a record that stands there twice": {damage: func(w wound) {
			w.inLog(func(log *jslog.Log, js jetstream.JetStream) {
				past := w.past(log, "late")
				r := past[len(past)-1]
				stored, err := eventlog.Encode(r.Transition)
				if err != nil {
					w.t.Fatal(err)
				}
				if _, err := js.Publish(w.t.Context(), "pawl.log.0.late."+string(r.Kind), stored); err != nil {
					w.t.Fatal(err)
				}
			})
		}, starts: true, says: `late .*out of service.*has revision`, held: []string{"late"}},
		"a foreign message under a new name": {damage: func(w wound) {
			w.put("pawl.log.0.intruder.run.prepared", []byte("hello"))
		}, starts: true, says: `intruder .*out of service`},
		"a foreign message of no workflow": {damage: func(w wound) {
			w.put("pawl.log.0.$intruder", []byte("hello"))
		}, says: `on subject pawl\.log\.0\.\$intruder it belongs to no workflow`},
		"a torn batch": {damage: func(w wound) {
			size := 0
			w.block(func(b []byte) []byte { size = len(b); return b })
			w.inLog(func(log *jslog.Log, _ jetstream.JetStream) {
				var all sync.WaitGroup
				for i := range 40 {
					all.Go(func() {
						e := w.entry(eventlog.WorkflowName(fmt.Sprintf("one%d", i)), eventlog.Head{}, &eventlog.WorkflowPaused{})
						if _, err := log.Append(w.t.Context(), e); err != nil {
							w.t.Error(err)
						}
					})
				}
				all.Wait()
				if log.Stats().BatchedMessages < 20 {
					w.t.Errorf("%+v: hardly a batch", log.Stats())
				}
			})
			w.block(func(b []byte) []byte { return b[:size+(len(b)-size)/2] })
		}, says: `lacks the messages \d+`, held: []string{"early", "late"}},
		"a store ahead of the log": {damage: func(w wound) {
			w.asBefore(func() { w.more("late") }, datadir.MarkFile)
		}, says: `the local store has seen position 0:\d+, the log ends at 0:\d+`, held: []string{"early", "late"}},
		"a log that went on after its end was lost": {damage: func(w wound) {
			w.asBefore(func() { w.more("late") }, datadir.MarkFile)
			kept := w.dir + ".store"
			if err := os.Rename(w.path("store"), kept); err != nil {
				w.t.Fatal(err)
			}
			w.more("early")
			w.more("early")
			remove(w.t, w.path("store"))
			if err := os.Rename(kept, w.path("store")); err != nil {
				w.t.Fatal(err)
			}
		}, says: `the local store has seen position 0:\d+`, held: []string{"early", "late"}},
		"a mark that cannot be read": {damage: func(w wound) {
			write(w.t, w.path(datadir.MarkFile), "garbage")
		}, says: `high-water mark .* cannot be read`, held: []string{"early", "late"}},
		"a mark of another log": {damage: func(w wound) {
			other := wound{w.t, place(w.t, nil)}
			startDaemon(w.t, other.dir, "pawl", "serve", "--data", "data").stop()
			mark, err := os.ReadFile(other.path(datadir.MarkFile))
			if err != nil {
				w.t.Fatal(err)
			}
			write(w.t, w.path(datadir.MarkFile), string(mark))
		}, says: `high-water mark .* belongs to installation`, held: []string{"early", "late"}},
		"a stream that was made to forget": {damage: func(w wound) {
			w.inLog(func(_ *jslog.Log, js jetstream.JetStream) {
				s, err := js.Stream(w.t.Context(), "PAWL_LOG_0")
				if err != nil {
					w.t.Fatal(err)
				}
				cfg := s.CachedInfo().Config
				cfg.MaxMsgs = 10
				if _, err := js.UpdateStream(w.t.Context(), cfg); err != nil {
					w.t.Fatal(err)
				}
			})
		}, says: `was configured to drop messages`, held: []string{"early", "late"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := wound{t, t.TempDir()}
			if err := os.CopyFS(w.dir, os.DirFS(original)); err != nil {
				t.Fatal(err)
			}
			c.damage(w)
			code := exit.CodeFailed
			if c.starts {
				code = exit.CodeNeedsPerson
			}
			out := mustRun(t, w.dir, code, "pawl", "serve", "--data", "data", "--until-idle")
			mustSay(t, out, c.says)
			step := named(t, out, "verify")
			out = mustRun(t, w.dir, exit.CodeFailed, step[0], step[1:]...)
			step = append(named(t, out, "verify --accept-loss"), "--as", "ann")
			out = mustRun(t, w.dir, 0, step[0], step[1:]...)
			mustRun(t, w.dir, 0, "pawl", "verify", "--data", "data")
			w.live(out, c.held)
			mustSay(t, mustRun(t, w.dir, 0, "pawl", "verify", "--data", "data"), `: ok$`)
			mustSay(t, mustRun(t, w.dir, 0, "pawl", "verify", "--accept-loss", "--data", "data"),
				`nothing is missing, nothing was changed`)
		})
	}
}

// live wants an engine that runs, with these workflows held by the system for the loss and no others, and
// follows the commands that end the holds.
func (w wound) live(out string, held []string) {
	w.t.Helper()
	d := startDaemon(w.t, w.dir, "pawl", "serve", "--data", "data")
	var list struct {
		Items []struct {
			Name    string
			Blocked *struct{ Reason string }
		}
	}
	d.get("/v1/workflows?limit=1000", &list)
	var got []string
	for _, one := range list.Items {
		if one.Blocked != nil && one.Blocked.Reason == "loss" && !strings.HasPrefix(one.Name, "one") {
			got = append(got, one.Name)
		}
	}
	if slices.Sort(got); !slices.Equal(got, held) {
		w.t.Errorf("held %q, want %q:\n%s", got, held, out)
	}
	for _, name := range held {
		step := named(w.t, out, "resume "+name)
		mustRun(w.t, w.dir, 0, step[0], step[1:]...)
	}
	for _, name := range []string{"early", "late"} {
		d.call(http.StatusOK, http.MethodPost, "/v1/workflows/"+name+"/run-now", nil)
	}
	d.await("caught up")
	var diagnostics struct{ Stopped []any }
	if d.get("/v1/diagnostics", &diagnostics); len(diagnostics.Stopped) > 0 {
		w.t.Errorf("out of service: %v", diagnostics.Stopped)
	}
	d.stop()
}

package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// TestStoreGivesWay: with --sync=interval a power failure can take the end of the log, of which the local
// store has seen more. The store is rebuilt from the log, with a warning that names the positions, and what
// it has seen last of serves to hold the workflows concerned.
func TestStoreGivesWay(t *testing.T) {
	long(t)
	t.Parallel()
	w := wound{t, recorded(t)}
	serve := []string{"serve", "--data", "data", "--sync=interval"}
	startDaemon(t, w.dir, "pawl", serve...).stop()
	// One that stands still for another reason is none of the start's business.
	w.put("pawl.log.0.broken.run.prepared", []byte("no transition"))
	w.asBefore(func() {
		w.more("late", "--sync=interval")
		d := startDaemon(t, w.dir, "pawl", serve...)
		d.call(http.StatusCreated, http.MethodPost, "/v1/workflows",
			map[string]string{"source": strings.ReplaceAll(smallScript, "NAME", "newest")})
		d.await("caught up")
		d.stop()
	})
	// Commands that look at the data change nothing of that.
	mustSay(t, mustRun(t, w.dir, exit.CodeFailed, "pawl", "verify", "--data", "data"),
		`late is at revision \d+ in the local store, and at revision \d+ in the log`)

	d := startDaemon(t, w.dir, "pawl", serve...)
	mustSay(t, d.text(), `level=WARN msg="the log lost its end: .*lost="the local store has seen position 0:\d+, `+
		`the log ends at 0:\d+.* held="late, newest"`)
	reason := func(name string) string {
		var workflow struct{ Blocked *struct{ Reason string } }
		if d.get("/v1/workflows/"+name, &workflow); workflow.Blocked == nil {
			return ""
		}
		return workflow.Blocked.Reason
	}
	for name, want := range map[string]string{"early": "", "late": "loss", "newest": "loss"} {
		if got := reason(name); got != want {
			t.Errorf("%s is held for %q, want %q", name, got, want)
		}
	}
	// The local store still had the script, so its file changes nothing; and nothing of it runs before a person says so.
	d.call(http.StatusOK, http.MethodPost, "/v1/workflows",
		map[string]string{"source": strings.ReplaceAll(smallScript, "NAME", "newest")})
	if reason("newest") != "loss" {
		t.Error("a deploy ended the hold")
	}
	for _, name := range []string{"late", "newest"} {
		mustRun(t, w.dir, 0, "pawl", "resume", name, "--data", "data")
		d.call(http.StatusOK, http.MethodPost, "/v1/workflows/"+name+"/run-now", nil)
	}
	d.await("caught up")
	d.stop()
	d = startDaemon(t, w.dir, "pawl", serve...)
	if strings.Contains(d.text(), "lost its end") {
		t.Errorf("it warns again:\n%s", d.text())
	}
	d.stop()
	mustSay(t, mustRun(t, w.dir, exit.CodeFailed, "pawl", "verify", "--data", "data"),
		`read broken at 0:85: transition cannot be read`, `: 1 problem$`)
}

// TestUnsyncedLogGone: whatever the writes were synced by, a log that is gone is not created anew, where
// the same message would be worked on again.
func TestUnsyncedLogGone(t *testing.T) {
	long(t)
	t.Parallel()
	dir := place(t, map[string]string{"early.ts": strings.ReplaceAll(smallScript, "NAME", "early")})
	mustRun(t, dir, 0, "pawl", "up", "early.ts", "--data", "data", "--sync=interval", "--until-idle")
	remove(t, dir, "data", "jetstream")
	for range 2 {
		out := mustRun(t, dir, exit.CodeFailed, "pawl", "up", "early.ts", "--data", "data", "--sync=interval", "--until-idle")
		mustSay(t, out, `PAWL_LOG_0 is gone`, `data/jetstream back from a copy .*: pawl serve --data DIR$`)
	}
	mustSay(t, mustRun(t, dir, exit.CodeFailed, "pawl", "verify", "--accept-loss", "--data", "data"), `PAWL_LOG_0 is gone`,
		`: pawl serve --data DIR$`)
	mustRun(t, dir, 0, "pawl", "up", "early.ts", "--data", "anew", "--sync=interval", "--until-idle")
}

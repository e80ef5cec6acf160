package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/eventlog"
)

const logFolder = "data/jetstream/$G/streams/PAWL_LOG_0"

// recorded is a data directory in which `early` stands at the beginning of the log and `late`
// fills the rest.
func recorded(t *testing.T) string {
	t.Helper()
	dir := place(t, map[string]string{
		"early.ts": strings.ReplaceAll(smallScript, "NAME", "early"), "late.ts": strings.ReplaceAll(smallScript, "NAME",
			"late"),
	})
	mustRun(t, dir, 0, "pawl", "up", "early.ts", "--data", "data", "--until-idle")
	d := startDaemon(t, dir, "pawl", "up", "late.ts", "--data", "data")
	for range 40 {
		d.call(http.StatusOK, http.MethodPost, "/v1/workflows/late/pause", nil)
		d.call(http.StatusOK, http.MethodPost, "/v1/workflows/late/resume", nil)
	}
	d.stop()
	return dir
}

// damage changes the log's only block.
func damage(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(logFolder), "msgs", "1.blk")
	block, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(change(block)))
}

func remove(t *testing.T, path ...string) {
	t.Helper()
	gone := filepath.Join(path...)
	if _, err := os.Stat(gone); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
}

func mustSay(t *testing.T, out string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(out) {
			t.Errorf("it does not say %q:\n%s", pattern, out)
		}
	}
}

// A log that lacks what it once held is refused, with what is missing and what to do.
func TestDamagedLog(t *testing.T) {
	long(t)
	t.Parallel()
	original := recorded(t)
	const accept, restore = `look at what is left: pawl verify; .*: pawl verify --accept-loss$`,
		`put .*data/jetstream back from a copy .*: pawl serve; .*: pawl serve --data DIR$`
	for name, c := range map[string]struct {
		damage func(dir string)
		says   string
		hint   string
	}{
		"bit flipped in the middle, found by reading": {func(dir string) {
			damage(t, dir, func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
			remove(t, dir, "data", "store")
		}, `log is damaged: stream PAWL_LOG_0 lacks the messages \d+`, accept},
		"bit flipped in the middle, no index": {func(dir string) {
			damage(t, dir, func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
			remove(t, dir, filepath.FromSlash(logFolder), "msgs", "index.db")
		}, `log is damaged: stream PAWL_LOG_0 lacks the messages \d+, acknowledged up to \d+`, accept},
		"a part overwritten, no index": {func(dir string) {
			damage(t, dir, func(b []byte) []byte { clear(b[len(b)/4 : len(b)/2]); return b })
			remove(t, dir, filepath.FromSlash(logFolder), "msgs", "index.db")
			if err := os.Mkdir(filepath.Join(dir, "data", "damaged"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, `log is damaged: stream PAWL_LOG_0 lacks the messages \d+-\d+, acknowledged up to \d+`,
			`each block in which a record was marked as erased is in .*/damaged as it was; .*` + accept},
		"end cut off": {func(dir string) {
			damage(t, dir, func(b []byte) []byte { return b[:len(b)-200] })
		}, `log is damaged: stream PAWL_LOG_0 lacks the messages \d+`, accept},
		"log deleted": {func(dir string) { remove(t, dir, "data", "jetstream") },
			`log is damaged: PAWL_LOG_0 is gone \(the high-water mark .*/log\.mark says that it existed\); ` +
				`it is not created anew`, restore},
		"stream deleted": {func(dir string) {
			remove(t, dir, filepath.FromSlash(logFolder))
		}, `log is damaged: PAWL_LOG_0 is gone`, restore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
				t.Fatal(err)
			}
			c.damage(dir)
			for range 2 { // and the refusal changes nothing
				out := mustRun(t, dir, exit.CodeFailed, "pawl", "serve", "--data", "data", "--until-idle")
				mustSay(t, out, c.says, `^  (nothing was changed|copy .*data aside before you go on); .*`+c.hint)
				if strings.Contains(out, "answering on") {
					t.Errorf("it answered:\n%s", out)
				}
			}
			out := mustRun(t, dir, exit.CodeFailed, "pawl", "verify", "--data", "data")
			mustSay(t, out, c.says, `^the log could not be read: 1 problem$`)
			if strings.HasSuffix(c.hint, accept) {
				mustSay(t, out, `^  to go on without what is missing, .*: pawl verify --accept-loss$`)
			} else {
				mustSay(t, out, `^  `+c.hint)
			}
		})
	}
}

// logHealth is what diagnostics say of the log.
func (d *daemon) logHealth() string {
	d.t.Helper()
	var diagnostics struct {
		Log struct {
			OK       bool
			Problems []string
		}
	}
	d.get("/v1/diagnostics", &diagnostics)
	return fmt.Sprint(diagnostics.Log)
}

// A flipped bit below the local store's checkpoint does not keep the engine from starting: it
// reads no more than it must. The whole log is read beside the work, and by verify.
func TestDamageBelowTheCheckpoint(t *testing.T) {
	long(t)
	t.Parallel()
	dir := recorded(t)
	damage(t, dir, func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	d := startDaemon(t, dir, "pawl", "serve", "--data", "data")
	mustSay(t, mustRun(t, dir, exit.CodeFailed, "pawl", "verify", "--url", d.url, "--data", "data"),
		`stream PAWL_LOG_0 lacks the messages \d+`, `late lacks revisions \d+ to \d+ before revision \d+`)
	d.call(http.StatusOK, http.MethodGet, "/v1/workflows/early/state", nil)
	mustSay(t, d.logHealth(), `^\{false \[.*stream PAWL_LOG_0 lacks the messages \d+.* late lacks revisions`)
	d.stop()
	// After a restart the check beside the work finds it again, and a fold shows it too.
	d = startDaemon(t, dir, "pawl", "serve", "--data", "data")
	d.await(`level=ERROR msg="the log of this workflow is damaged: .*workflow=late`)
	mustSay(t, d.logHealth(), `^\{false \[.*late lacks revisions`)
	problem := string(d.call(http.StatusInternalServerError, http.MethodGet, "/v1/workflows/late/state", nil))
	mustSay(t, problem, `"code":"log\.damaged"`, `"detail":"log is damaged: .*late.* has revision \d+, want \d+"`,
		`"hint":".*pawl verify`)
	mustSay(t, mustRun(t, dir, exit.CodeFailed, "pawl", "state", "late", "--at", "60", "--url", d.url, "--data", "data"),
		`log is damaged: .*late.*`, `pawl verify`)
	mustSay(t, d.logHealth(), `^\{false \[.*log is damaged: .*late`)
	d.stop()
}

// Accepting a loss records the person and what was accepted, and holds every workflow that it may concern.
func TestAcceptLoss(t *testing.T) {
	long(t)
	t.Parallel()
	dir := recorded(t)
	out := mustRun(t, dir, 0, "pawl", "verify", "--accept-loss", "--data", "data")
	mustSay(t, out, `^nothing is missing, nothing was changed$`)
	damage(t, dir, func(b []byte) []byte { return b[:len(b)*3/4] })
	if err := os.RemoveAll(filepath.Join(dir, "data", "store")); err != nil { // which could prove that early lacks nothing
		t.Fatal(err)
	}
	out = mustRun(t, dir, 0, "pawl", "verify", "--accept-loss", "--data", "data", "--as", "ann")
	mustSay(t, out, `^accepted as lost: stream PAWL_LOG_0: messages \d+-\d+$`,
		`^early is held: its newest transitions may be among what is lost.*with pawl why early and .*pawl resume early$`,
		`^late is held: `)
	mustSay(t, mustRun(t, dir, 0, "pawl", "verify", "--data", "data"), `^2 workflows, \d+ transitions: ok$`)
	mustSay(t, mustRun(t, dir, 0, "pawl", "verify", "--accept-loss", "--data", "data"), `nothing is missing`)
	mustSay(t, mustRun(t, dir, exit.CodeNeedsPerson, "pawl", "serve", "--data", "data", "--until-idle"),
		`early .*loss.*Try: pawl resume early`, `late .*loss`)

	d := startDaemon(t, dir, "pawl", "serve", "--data", "data")
	if out, _ := runProgram(t, dir, "pawl", "verify", "--accept-loss", "--url", d.url, "--data",
		"data"); !strings.Contains(out, "an engine answers at") {
		t.Errorf("with an engine running: %s", out)
	}
	log := string(d.call(http.StatusOK, http.MethodGet, "/v1/log?workflow=early", nil))
	mustSay(t, log, `"kind":"workflow\.loss_accepted","at":"[^"]+","actor":\{"kind":"user","name":"ann",`+
		`"verified":false\}`, `"detail":"stream PAWL_LOG_0: messages`)
	d.call(http.StatusOK, http.MethodPost, "/v1/workflows/early/resume", nil)
	d.call(http.StatusOK, http.MethodPost, "/v1/workflows/early/run-now", nil)
	d.await("caught up")
	d.stop()
	// What was accepted once stays accepted, and a workflow that was resumed stays so.
	d = startDaemon(t, dir, "pawl", "serve", "--data", "data")
	var why map[string]any
	d.get("/v1/workflows/early/why", &why)
	if why["reason"] != "scheduled" {
		t.Errorf("early: %v", why)
	}
	d.get("/v1/workflows/late/why", &why)
	// The last transition that is left may be a person's pause: that hides nothing.
	if text := fmt.Sprint(why["message"]); !strings.Contains(text, "he system holds it") &&
		!strings.Contains(text, "The system holds") {
		t.Errorf("late: %v", why)
	}
	var late struct{ Blocked struct{ Reason string } }
	if d.get("/v1/workflows/late", &late); late.Blocked.Reason != "loss" {
		t.Errorf("late: %+v", late)
	}
	d.stop()
}

// A workflow that lost transitions in the middle of its past is held at what stands before them, also
// when that is nothing; one whose past runs unbroken after the hole is not touched.
func TestAcceptLossInTheMiddle(t *testing.T) {
	long(t)
	t.Parallel()
	dir := place(t, nil)
	d := startDaemon(t, dir, "pawl", "serve", "--data", "data")
	deploy := func(name string, size int) {
		source := strings.ReplaceAll(smallScript, "NAME", name) + "\n// " + strings.Repeat("x", size)
		d.call(http.StatusCreated, http.MethodPost, "/v1/workflows", map[string]string{"source": source})
	}
	deploy("across", 0)
	for i := range 45 { // more than a block of the log holds
		deploy(fmt.Sprintf("filler%d", i), 200<<10)
	}
	d.call(http.StatusOK, http.MethodPost, "/v1/workflows/across/pause", nil)
	deploy("whole", 0)
	d.stop()
	remove(t, dir, filepath.FromSlash(logFolder), "msgs", "1.blk")
	mustSay(t, mustRun(t, dir, exit.CodeFailed, "pawl", "serve", "--data", "data"), `lacks the messages 1-\d+`)

	out := mustRun(t, dir, 0, "pawl", "verify", "--accept-loss", "--json", "--data", "data")
	_, document, _ := strings.Cut(out, "\n")
	var got storage.Accepted
	if err := json.Unmarshal([]byte(document), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(got.Lost) != 1 || len(got.Broken) != 0 || !slices.Contains(got.Held, "across") ||
		slices.Contains(got.Held, "whole") ||
		!regexp.MustCompile(`across lacks revisions 1 to \d+`).MatchString(got.SetAside["across"]) {
		t.Errorf("accepted %+v", got)
	}
	mustSay(t, mustRun(t, dir, 0, "pawl", "verify", "--data", "data"), `: ok$`)
	d = startDaemon(t, dir, "pawl", "serve", "--data", "data")
	var why map[string]any
	d.get("/v1/workflows/whole/why", &why)
	if why["reason"] != "scheduled" {
		t.Errorf("whole: %v", why)
	}
	d.get("/v1/workflows/across/why", &why)
	if text := fmt.Sprint(why["message"]); !strings.Contains(text, "The system holds workflow across (loss)") {
		t.Errorf("across: %v", why)
	}
	// A script deployed under its name is held like it.
	d.call(http.StatusCreated, http.MethodPost, "/v1/workflows",
		map[string]string{"source": strings.ReplaceAll(smallScript, "NAME", "across")})
	var across struct{ Blocked struct{ Reason string } }
	if d.get("/v1/workflows/across", &across); across.Blocked.Reason != "loss" {
		t.Errorf("across: %+v", across)
	}
	d.call(http.StatusOK, http.MethodPost, "/v1/workflows/across/resume", nil)
	d.stop()
}

// A workflow that lost a transition in the middle of its past is held at what stands before that. One that has
// none after the hole is not: the local store, which has folded the log beyond the hole, shows that its past is whole.
func TestAcceptLossOfOneMessage(t *testing.T) {
	long(t)
	t.Parallel()
	dir := recorded(t)
	damage(t, dir, func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	out, code := runProgram(t, dir, "pawl", "verify", "--accept-loss", "--json", "--data", "data")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	_, document, _ := strings.Cut(out, "\n")
	var got storage.Accepted
	if err := json.Unmarshal([]byte(document), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(got.Lost) != 1 || !slices.Equal(got.Held, []eventlog.WorkflowName{"late"}) || len(got.SetAside) != 1 ||
		got.SetAside["late"] == "" {
		t.Errorf("accepted %+v", got)
	}
	mustSay(t, mustRun(t, dir, exit.CodeNeedsPerson, "pawl", "serve", "--data", "data", "--until-idle"),
		`holds it too \(loss\): .*late lacks revisions`)
}

// An engine does not run between the two halves of accepting a loss.
func TestAcceptLossInterrupted(t *testing.T) {
	long(t)
	t.Parallel()
	dir := recorded(t)
	write(t, filepath.Join(dir, "data", "loss.accepting"), "stream PAWL_LOG_0: messages 7-9")
	mustSay(t, mustRun(t, dir, exit.CodeFailed, "pawl", "serve", "--data", "data", "--until-idle"),
		`accepting a loss was interrupted`, `pawl verify --accept-loss`)
	// After an interruption it is not known what else was missing: all are held.
	mustSay(t, mustRun(t, dir, 0, "pawl", "verify", "--accept-loss", "--data", "data"),
		`accepted as lost: stream PAWL_LOG_0: messages 7-9`, `early is held`, `late is held`)
	mustRun(t, dir, exit.CodeNeedsPerson, "pawl", "serve", "--data", "data", "--until-idle")
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// tear leaves what a kill in the middle of an update of the log's stream leaves: the metadata after it, and the
// checksum from before. The update is the one that setting something aside makes.
func (w wound) tear() {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(logFolder), "meta.sum")
	sum, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.inLog(func(log *jslog.Log, _ jetstream.JetStream) {
		if _, err := log.SetAside(w.t.Context(), 0, nil); err != nil {
			w.t.Fatal(err)
		}
	})
	write(w.t, path, string(sum))
}

// An update of the log's stream that was interrupted by a kill is undone at the next start, and all goes on.
func TestTornMetadata(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program a dozen times: left out by -short")
	}
	t.Parallel()
	original := recorded(t)
	placed := func(t *testing.T) wound {
		w := wound{t, t.TempDir()}
		if err := os.CopyFS(w.dir, os.DirFS(original)); err != nil {
			t.Fatal(err)
		}
		return w
	}
	const putBack = `interrupted: the metadata from before the update is restored.*PAWL_LOG_0`
	t.Run("serve", func(t *testing.T) {
		t.Parallel()
		w := placed(t)
		w.tear()
		mustSay(t, mustRun(t, w.dir, 0, "pawl", "serve", "--data", "data", "--until-idle"), putBack)
		mustSay(t, mustRun(t, w.dir, 0, "pawl", "verify", "--data", "data"), `: ok$`)
		w.live("", nil)
	})
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		w := placed(t)
		w.tear()
		mustSay(t, mustRun(t, w.dir, 0, "pawl", "up", "early.ts", "--data", "data", "--until-idle"), putBack)
	})
	t.Run("while a loss is accepted", func(t *testing.T) {
		t.Parallel()
		w := placed(t)
		w.block(func(b []byte) []byte { return b[:len(b)-200] })
		before, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(logFolder), "meta.sum"))
		if err != nil {
			t.Fatal(err)
		}
		// The first update of the acceptance is the torn one: nothing of what follows it was done.
		kept := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(kept, os.DirFS(w.path())); err != nil {
			t.Fatal(err)
		}
		mustRun(t, w.dir, 0, "pawl", "verify", "--accept-loss", "--data", "data", "--as", "ann")
		after, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(logFolder), "meta.inf"))
		if err != nil {
			t.Fatal(err)
		}
		remove(t, w.path())
		if err := os.CopyFS(w.path(), os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(w.dir, filepath.FromSlash(logFolder), "meta.inf"), string(after))
		write(t, filepath.Join(w.dir, filepath.FromSlash(logFolder), "meta.sum"), string(before))
		write(t, w.path("loss.accepting"), "")

		out := mustRun(t, w.dir, exit.CodeFailed, "pawl", "serve", "--data", "data", "--until-idle")
		step := append(named(t, out, "verify --accept-loss"), "--as", "ann")
		out = mustRun(t, w.dir, 0, step[0], step[1:]...)
		mustSay(t, out, `accepted as lost: stream PAWL_LOG_0`)
		w.live(out, []string{"early", "late"})
		mustSay(t, mustRun(t, w.dir, 0, "pawl", "verify", "--data", "data"), `: ok$`)
	})
	t.Run("no copy", func(t *testing.T) {
		t.Parallel()
		w := placed(t)
		w.tear()
		remove(t, w.dir, filepath.FromSlash(logFolder), "meta.copy")
		for range 2 {
			out := mustRun(t, w.dir, exit.CodeFailed, "pawl", "serve", "--data", "data", "--until-idle")
			mustSay(t, out, `stream PAWL_LOG_0 is there and cannot be used: its metadata .* does not match its checksum`)
			named(t, out, "verify --accept-loss")
		}
		out := mustRun(t, w.dir, exit.CodeFailed, "pawl", "verify", "--data", "data")
		step := append(named(t, out, "verify --accept-loss"), "--as", "ann")
		out = mustRun(t, w.dir, 0, step[0], step[1:]...)
		mustSay(t, out, `accepted as lost: stream PAWL_LOG_0: its metadata does not match its checksum; `+
			`it is taken as it is`)
		w.live(out, []string{"early", "late"})
		mustSay(t, mustRun(t, w.dir, 0, "pawl", "verify", "--data", "data"), `: ok$`)
	})
	t.Run("no copy, and not readable", func(t *testing.T) {
		t.Parallel()
		w := placed(t)
		w.tear()
		remove(t, w.dir, filepath.FromSlash(logFolder), "meta.copy")
		write(t, filepath.Join(w.dir, filepath.FromSlash(logFolder), "meta.inf"), "{")
		for _, args := range [][]string{{"serve", "--until-idle"}, {"verify"}, {"verify", "--accept-loss"}} {
			out := mustRun(t, w.dir, exit.CodeFailed, "pawl", append(args, "--data", "data")...)
			mustSay(t, out, `its metadata .* does not match its checksum, .* its messages are still in .*msgs`,
				`put .*data/jetstream back from a copy or a backup`)
			if strings.Contains(out, "it is not created anew") {
				t.Errorf("it calls the log gone:\n%s", out)
			}
		}
	})
	t.Run("older copy", func(t *testing.T) {
		t.Parallel()
		w := placed(t)
		w.tear()
		older, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(logFolder), "meta.copy"))
		if err != nil {
			t.Fatal(err)
		}
		w.tear()
		for name, content := range map[string]string{"meta.copy": string(older), "meta.inf": "{", "meta.sum": "torn"} {
			write(t, filepath.Join(w.dir, filepath.FromSlash(logFolder), name), content)
		}
		out := mustRun(t, w.dir, exit.CodeFailed, "pawl", "serve", "--data", "data", "--until-idle")
		step := append(named(t, out, "verify --accept-loss"), "--as", "ann")
		out = mustRun(t, w.dir, 0, step[0], step[1:]...)
		mustSay(t, out, `accepted as lost: stream PAWL_LOG_0: its metadata does not match its checksum; `+
			`an older copy of it is taken`)
		w.live(out, []string{"early", "late"})
		mustSay(t, mustRun(t, w.dir, 0, "pawl", "verify", "--data", "data"), `: ok$`)
	})
	t.Run("the run log", func(t *testing.T) {
		t.Parallel()
		for name, metadata := range map[string]func(string) string{
			"torn":         func(inf string) string { return inf },
			"empty":        func(string) string { return "" },
			"not readable": func(inf string) string { return strings.Replace(inf, "max_age", "max_agf", 1) },
			"not usable": func(inf string) string {
				return strings.Replace(inf, `"retention":"limits"`, `"retention":"interest"`, 1)
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := placed(t)
				folder := w.path("jetstream", "$G", "streams", "PAWL_RUNLOG")
				inf, err := os.ReadFile(filepath.Join(folder, "meta.inf"))
				if err != nil {
					t.Fatal(err)
				}
				remove(t, folder, "meta.copy")
				write(t, filepath.Join(folder, "meta.inf"), metadata(string(inf)))
				write(t, filepath.Join(folder, "meta.sum"), "torn")
				out := mustRun(t, w.dir, 0, "pawl", "serve", "--data", "data", "--until-idle")
				mustSay(t, out, `the stream holds no facts and is created again.*PAWL_RUNLOG`)
				out = mustRun(t, w.dir, 0, "pawl", "serve", "--data", "data", "--until-idle")
				if strings.Contains(out, "checksum") {
					t.Errorf("the second start finds it torn again:\n%s", out)
				}
			})
		}
	})
}

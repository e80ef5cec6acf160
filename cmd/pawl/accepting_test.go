package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// lostTail is an installation whose last message is lost; the local store proves that it was one of late.
func lostTail(t *testing.T, original string) wound {
	t.Helper()
	w := wound{t, t.TempDir()}
	if err := os.CopyFS(w.dir, os.DirFS(original)); err != nil {
		t.Fatal(err)
	}
	w.block(func(b []byte) []byte { return b[:len(b)-200] })
	return w
}

// accept accepts the loss and says what is held for it.
func (w wound) accept(args ...string) []eventlog.WorkflowName {
	w.t.Helper()
	args = append([]string{"verify", "--accept-loss", "--json", "--data", "data"}, args...)
	out := mustRun(w.t, w.dir, 0, "pawl", args...)
	var got storage.Accepted
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &got); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return got.Held
}

// sums are the contents of the data directory.
func (w wound) sums() map[string][32]byte {
	w.t.Helper()
	all := map[string][32]byte{}
	err := filepath.WalkDir(w.path(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		all[path] = sha256.Sum256(content)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// TestAcceptLossRefused: an acceptance that is refused, since a stream is gone altogether, leaves nothing behind: once
// the stream is put back, the engine starts.
func TestAcceptLossRefused(t *testing.T) {
	long(t)
	t.Parallel()
	dir := recorded(t)
	stream, aside := filepath.Join(dir, filepath.FromSlash(logFolder)), filepath.Join(dir, "aside")
	if err := os.Rename(stream, aside); err != nil {
		t.Fatal(err)
	}
	mustSay(t, mustRun(t, dir, exit.CodeFailed, "pawl", "verify", "--accept-loss", "--data", "data"),
		`log is damaged: PAWL_LOG_0 is gone`)
	if _, err := os.Stat(filepath.Join(dir, "data", "loss.accepting")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left a note of what is being accepted: %v", err)
	}
	if err := os.RemoveAll(stream); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, stream); err != nil {
		t.Fatal(err)
	}
	mustRun(t, dir, 0, "pawl", "serve", "--data", "data", "--until-idle")
}

// TestAcceptLossRepeated: what the first command has proven to lack nothing is not held by a second one, nor by one
// that goes on after an interruption.
func TestAcceptLossRepeated(t *testing.T) {
	long(t)
	t.Parallel()
	original := recorded(t)
	only := func(w wound, held []eventlog.WorkflowName, want ...eventlog.WorkflowName) {
		w.t.Helper()
		if !slices.Equal(held, want) {
			w.t.Errorf("held %q, want %q", held, want)
		}
	}
	t.Run("after its end", func(t *testing.T) {
		t.Parallel()
		w := lostTail(t, original)
		only(w, w.accept(), "late")
		only(w, w.accept())
		mustSay(t, mustRun(t, w.dir, 0, "pawl", "verify", "--accept-loss", "--data", "data"),
			`nothing is missing, nothing was changed`,
			`^late is held since an earlier acceptance: its newest transitions may be lost: stream .*pawl resume late$`)
	})
	t.Run("interrupted once the log has it", func(t *testing.T) {
		t.Parallel()
		w := lostTail(t, original)
		write(t, w.path("loss.accepting"), `{"lines":null,"end":false}`)
		server := natstest.NewServer(t, natstest.InDir(w.path()))
		nc := natstest.Connect(t, server)
		lost, err := jslog.AcceptLoss(t.Context(), nc, jslog.Config{Mark: w.path(datadir.MarkFile), KeepMark: true})
		if err != nil || len(lost.Lines) != 1 || lost.End {
			t.Fatalf("%+v, %v", lost, err)
		}
		nc.Close()
		server.Shutdown()
		mustSay(t, mustRun(t, w.dir, exit.CodeFailed, "pawl", "serve", "--data", "data"), `accepting a loss was interrupted`)
		only(w, w.accept(), "late")
		only(w, w.accept())
	})
	t.Run("without its report", func(t *testing.T) {
		t.Parallel()
		w := lostTail(t, original)
		report := filepath.Join(w.dir, "report")
		before := w.sums()
		noFolder := filepath.Join(w.dir, "pawl.yaml")
		for _, path := range []string{
			filepath.Join(w.dir, "none", "report"), filepath.Join(noFolder, "report"), w.path(datadir.MarkFile),
		} {
			if filepath.Dir(path) == noFolder {
				write(t, noFolder, "")
			}
			out := mustRun(t, w.dir, exit.CodeFailed, "pawl", "verify", "--accept-loss", "--data", "data", "--report", path)
			mustSay(t, out, `write down what will be given up: .*`+path,
				`nothing is given up; name another file: .*--report FILE`)
		}
		for path, sum := range w.sums() {
			if old, known := before[path]; !known || !bytes.Equal(old[:], sum[:]) {
				t.Errorf("%s was changed", path)
			}
		}
		only(w, w.accept("--report", report), "late")
		only(w, w.accept())
	})
}

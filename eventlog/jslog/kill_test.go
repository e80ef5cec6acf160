package jslog_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

const (
	appenderDir = "PAWL_TEST_APPENDER_DIR" // makes the test below the process that is killed
	appenders   = 48
)

// TestKilledInBatches: a process is killed while it writes in batches, at another moment each time.
// Whatever was acknowledged is in the log, every workflow's past is whole, and the next process goes on.
func TestKilledInBatches(t *testing.T) {
	if dir := os.Getenv(appenderDir); dir != "" {
		appendUntilKilled(t, dir)
		return
	}
	t.Parallel()
	for name, staged := range map[string]string{"staged in files": "files", "staged in memory": "memory"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			last, batched := uint64(0), 0
			for round := range 6 {
				acked, batches := killAppender(t, filepath.Join(dir, staged), 200+37*round)
				if batches > 0 {
					batched++
				}
				last = checkWhole(t, filepath.Join(dir, staged), acked, last)
			}
			if batched < 4 {
				t.Errorf("only %d of 6 processes wrote batches before they were killed", batched)
			}
		})
	}
}

// killAppender starts an appender and kills it after so many acknowledgements. It returns the last
// acknowledged revision of each workflow.
func killAppender(t *testing.T, dir string, after int) (acked map[eventlog.WorkflowName]uint64, batches uint64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledInBatches$")
	// What is killed removes no temporary folders of its own: they stand in the folder of this test.
	cmd.Env = append(os.Environ(), appenderDir+"="+dir, "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked = map[eventlog.WorkflowName]uint64{}
	lines, said := 0, []string(nil)
	for scan := bufio.NewScanner(out); scan.Scan(); {
		var w eventlog.WorkflowName
		var revision uint64
		if n, _ := fmt.Sscanf(scan.Text(), "acked %s %d %d", &w, &revision, &batches); n != 3 {
			said = append(said, scan.Text())
			continue
		}
		acked[w] = max(acked[w], revision)
		if lines++; lines == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || lines < after {
		t.Fatalf("the appender ended by itself after %d acknowledgements: %v\n%s", lines, err, strings.Join(said, "\n"))
	}
	return acked, batches
}

func stagedLog(t *testing.T, dir string) *jslog.Log {
	t.Helper()
	s := natstest.NewServer(t, natstest.InDir(filepath.Join(dir, "nats")))
	cfg := jslog.Config{Mark: filepath.Join(dir, "mark"), EmbeddedSync: true, BatchFrom: 4}
	if filepath.Base(dir) == "memory" {
		cfg.Stage = s.StageInMemory
	}
	return mustOpen(t, natstest.Connect(t, s), cfg)
}

func appendUntilKilled(t *testing.T, dir string) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l := stagedLog(t, dir)
	heads, _ := headsOf(t, l)
	var all sync.WaitGroup
	for n := range appenders {
		head := heads[named(n)]
		all.Go(func() {
			for i := 0; ; i++ {
				e := logtest.PaddedEntry(t, named(n), head, 250)
				e.Barrier = i%4 == 3
				next, err := l.Append(t.Context(), e)
				if err != nil {
					t.Error(err)
					return
				}
				head = next.Head
				_, _ = fmt.Printf("acked %s %d %d\n", named(n), head.Revision, l.Stats().Batches) // one write
			}
		})
	}
	all.Wait()
}

// headsOf reads a whole log: where each workflow ends, and the log itself.
func headsOf(t *testing.T, l eventlog.Log) (heads map[eventlog.WorkflowName]eventlog.Head, last uint64) {
	t.Helper()
	heads = map[eventlog.WorkflowName]eventlog.Head{}
	for _, r := range logtest.ReadAll(t, l) {
		heads[r.Workflow], last = r.Head(), r.Position.Seq
	}
	return heads, last
}

// checkWhole opens the log that a killed process has left and reads all of it. It returns its end.
func checkWhole(t *testing.T, dir string, acked map[eventlog.WorkflowName]uint64, least uint64) (last uint64) {
	t.Helper()
	t.Run("after a kill", func(t *testing.T) { // its server has to end before the next process starts
		l := stagedLog(t, dir)
		heads, end := headsOf(t, l)
		last = end
		for w, revision := range acked {
			if heads[w].Revision < revision {
				t.Errorf("%s ends at revision %d, acknowledged was %d", w, heads[w].Revision, revision)
			}
		}
		if last <= least {
			t.Errorf("the log ends at %d, it was at %d before", last, least)
		}
	})
	return last
}

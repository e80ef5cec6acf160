package embeddednats_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// batchStream makes a stream that takes atomic batches and returns what sends one message of one.
func batchStream(t *testing.T, s *embeddednats.Server) (send func(seq string, commit bool)) {
	t.Helper()
	nc := natstest.Connect(t, s)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"},
		AllowAtomicPublish: true}); err != nil {
		t.Fatal(err)
	}
	return func(seq string, commit bool) {
		t.Helper()
		m := &nats.Msg{Subject: "s", Header: nats.Header{"Nats-Batch-Id": {"b"}, "Nats-Batch-Sequence": {seq}},
			Data: []byte("message " + seq)}
		if commit {
			m.Header["Nats-Batch-Commit"] = []string{"1"}
		}
		answer, err := nc.RequestMsg(m, 10*time.Second)
		if err != nil || strings.Contains(string(answer.Data), "error") {
			t.Fatalf("message %s of a batch: %q, %v", seq, answer.Data, err)
		}
	}
}

// stage has the stream's batches staged in memory, or skips the test on a machine that has none for files.
func stage(t *testing.T, s *embeddednats.Server) {
	t.Helper()
	err := s.StageInMemory("S")
	for _, none := range []error{errors.ErrUnsupported, fs.ErrNotExist, fs.ErrPermission, syscall.EROFS} {
		if errors.Is(err, none) {
			t.Skipf("this machine has no memory for files: %v", err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stagedIn is where the stream's batches are staged, as the data directory shows it.
func stagedIn(t *testing.T, dir string) (target string) {
	t.Helper()
	target, err := os.Readlink(filepath.Join(dir, "jetstream", "$G", "streams", "S", "batches"))
	if err != nil {
		t.Fatalf("the server does not stage where StageInMemory looks for it: %v", err)
	}
	return target
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestStageInMemory: a batch that is not committed lies in memory, one that is leaves nothing there, and
// neither does the server.
func TestStageInMemory(t *testing.T) {
	dir := t.TempDir()
	s := natstest.NewServer(t, natstest.InDir(dir))
	send := batchStream(t, s)
	stage(t, s)
	target := stagedIn(t, dir)
	send("1", false)
	if !strings.HasPrefix(target, "/dev/shm/") || entries(t, target) != 1 {
		t.Fatalf("a batch under way has left %d entries in %s, want 1", entries(t, target), target)
	}
	if err := s.StageInMemory("S"); err != nil || stagedIn(t, dir) != target || entries(t, target) != 1 {
		t.Fatalf("asking again: %v, with %d entries, want the batch to be left alone", err, entries(t, target))
	}
	send("2", true)
	if n := entries(t, target); n != 0 {
		t.Errorf("a committed batch has left %d entries", n)
	}
	if err := os.RemoveAll(filepath.Dir(target)); err != nil { // as a system may that logs a user out
		t.Fatal(err)
	}
	stage(t, s)
	send("1", false)
	send("2", true)
	s.Shutdown()
	for _, path := range []string{filepath.Dir(target), filepath.Join(dir, "jetstream", "$G", "streams", "S", "batches")} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after Shutdown %s is still there (%v)", path, err)
		}
	}
}

// TestStageInMemoryAfterCrash: what a process that was killed has left in memory is removed by the next server of the
// same user, on whatever directory that is, and what a server that lives uses is not.
func TestStageInMemoryAfterCrash(t *testing.T) {
	dir := t.TempDir()
	s := natstest.NewServer(t, natstest.InDir(dir))
	send := batchStream(t, s)
	send("1", true) // in files
	stage(t, s)
	target := stagedIn(t, dir)
	home := filepath.Dir(target)
	s.Shutdown()

	// As a kill leaves it: the link, where it leads, a lock that the system has freed, and a batch.
	if err := os.MkdirAll(filepath.Join(target, "abandoned"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(home, "lock")
	if err := errors.Join(os.Chmod(home, 0o700), os.WriteFile(lock, nil, 0o600),
		os.Symlink(target, filepath.Join(dir, "jetstream", "$G", "streams", "S", "batches"))); err != nil {
		t.Fatal(err)
	}
	alive := natstest.NewServer(t, natstest.InDir(t.TempDir()))
	batchStream(t, alive)
	stage(t, alive)
	if _, err := os.Lstat(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the next server has left %s of a server that was killed (%v)", home, err)
	}

	other := t.TempDir()
	second := natstest.NewServer(t, natstest.InDir(other))
	batchStream(t, second)
	stage(t, second)
	secondHome := filepath.Dir(stagedIn(t, other))
	s = natstest.NewServer(t, natstest.InDir(dir))
	send = batchStream(t, s)
	stage(t, s)
	if again := stagedIn(t, dir); again == target || entries(t, again) != 0 {
		t.Errorf("after a crash it stages in %s with %d entries", again, entries(t, again))
	}
	if _, err := os.Lstat(secondHome); err != nil {
		t.Errorf("a server's directory was taken from it: %v", err)
	}
	send("1", false)
	send("2", true)
}

// TestStageInMemoryRefused: what cannot be had is an error, and batches work all the same.
func TestStageInMemoryRefused(t *testing.T) {
	dir := t.TempDir()
	s := natstest.NewServer(t, natstest.InDir(dir))
	if err := s.StageInMemory("S"); err == nil || !strings.Contains(err.Error(), "stream S") {
		t.Errorf("of a stream that is not there: %v", err)
	}
	send := batchStream(t, s)
	stage(t, s)
	home := filepath.Dir(stagedIn(t, dir))
	if err := os.Chmod(home, 0o777); err != nil { // another's could look like this
		t.Fatal(err)
	}
	if err := s.StageInMemory("S"); err == nil || !strings.Contains(err.Error(), "is not this user's alone") {
		t.Errorf("in a directory that is open to others: %v", err)
	}
	send("1", false)
	send("2", true)
	s.Shutdown()
	if err := s.StageInMemory("S"); err == nil {
		t.Error("of a server that has ended: no error")
	}
}

// TestServerWithoutStagingAfterCrash: a server that is not asked to stage in memory does as it always has on
// what one that did has left, also where the memory was lost with the power.
func TestServerWithoutStagingAfterCrash(t *testing.T) {
	for _, lost := range []bool{false, true} {
		dir, memory := t.TempDir(), t.TempDir()
		s := natstest.NewServer(t, natstest.InDir(dir))
		batchStream(t, s)("1", true)
		s.Shutdown()
		link := filepath.Join(dir, "jetstream", "$G", "streams", "S", "batches")
		if err := errors.Join(os.RemoveAll(link), os.MkdirAll(filepath.Join(memory, "abandoned"), 0o700),
			os.Symlink(memory, link)); err != nil {
			t.Fatal(err)
		}
		if lost {
			if err := os.RemoveAll(memory); err != nil {
				t.Fatal(err)
			}
		}
		s = natstest.NewServer(t, natstest.InDir(dir))
		send := batchStream(t, s)
		send("1", false)
		if info, err := os.Lstat(link); err != nil || !info.IsDir() {
			t.Errorf("memory lost %t: it stages in %v (%v), want a directory", lost, info, err)
		}
		send("2", true)
		s.Shutdown()
	}
}

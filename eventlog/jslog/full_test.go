package jslog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/logtest"
)

// appendUntilError appends until the log refuses, and returns the heads acknowledged before.
func appendUntilError(t *testing.T, l eventlog.Log, size int) ([]eventlog.Head, eventlog.Entry, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var head eventlog.Head
	var acks []eventlog.Head
	for ctx.Err() == nil {
		e := logtest.PaddedEntry(t, "a", head, size)
		got, err := l.Append(ctx, e)
		if err != nil {
			return acks, e, err
		}
		head = got.Head
		acks = append(acks, head)
	}
	t.Fatal("the store never became full")
	return nil, eventlog.Entry{}, nil
}

func mustHold(t *testing.T, l eventlog.Log, acks []eventlog.Head) {
	t.Helper()
	held := map[eventlog.Head]bool{}
	for r, err := range l.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		held[r.Head()] = true
	}
	for _, head := range acks {
		if !held[head] {
			t.Errorf("revision %d was acknowledged and is not in the log", head.Revision)
		}
	}
}

func TestFullByLimit(t *testing.T) {
	t.Parallel()
	s := natstest.NewServer(t, natstest.Fast, func(c *embeddednats.Config) { c.JetStreamMaxStore = 1 << 20 })
	l := mustOpen(t, natstest.Connect(t, s), jslog.Config{Healthy: s.Healthy})
	acks, e, err := appendUntilError(t, l, 64<<10)
	if !errors.Is(err, eventlog.ErrFull) || errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Fatalf("append to a full store: %v, want ErrFull and nothing else", err)
	}
	if _, err := l.Append(t.Context(), e); !errors.Is(err, eventlog.ErrFull) {
		t.Errorf("the same again: %v, want ErrFull", err)
	}
	if len(acks) < 10 {
		t.Errorf("full after %d", len(acks))
	}
	mustHold(t, l, acks)
}

// TestFullDisk fills a real file system. The server answers nothing then; only its health tells.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mountTemporary(disk, "12m"); err != nil {
		t.Skipf("cannot mount a file system on %s to fill: %v", runtime.GOOS, err)
	}
	t.Cleanup(func() {
		if err := unmount(disk); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(disk, "nats")
	mark := filepath.Join(t.TempDir(), "mark")
	// A limit larger than the disk, so that it is the disk that refuses.
	unlimited := func(c *embeddednats.Config) { c.JetStreamMaxStore = 1 << 30 }
	s := natstest.NewServer(t, natstest.InDir(dir), unlimited)
	l := mustOpen(t, natstest.Connect(t, s),
		jslog.Config{Mark: mark, Healthy: s.Healthy, AckTimeout: 500 * time.Millisecond})
	acks, e, err := appendUntilError(t, l, 64<<10)
	if !errors.Is(err, eventlog.ErrFull) || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("append to a full disk: %v, want ErrFull with the reason", err)
	}
	if !errors.Is(err, eventlog.ErrUnconfirmed) {
		t.Errorf("%v: without an answer it is not known that nothing was written", err)
	}
	_ = l.Close()
	s.Shutdown()

	if err := remount(disk, "64m"); err != nil {
		t.Fatal(err)
	}
	s = natstest.NewServer(t, natstest.InDir(dir), unlimited)
	l = mustOpen(t, natstest.Connect(t, s), jslog.Config{Mark: mark, Healthy: s.Healthy})
	head, err := logtest.Head(l.Append(t.Context(), e))
	if err != nil {
		t.Fatalf("the same entry after space was made: %v", err)
	}
	mustHold(t, l, append(acks, head))
}

// TestNoRoomToBegin: a log that cannot be created for want of room is not waited for.
func TestNoRoomToBegin(t *testing.T) {
	t.Parallel()
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mountTemporary(disk, "64k"); err != nil {
		t.Skipf("cannot mount a file system on %s to fill: %v", runtime.GOOS, err)
	}
	t.Cleanup(func() {
		if err := unmount(disk); err != nil {
			t.Error(err)
		}
	})
	s := natstest.NewServer(t, natstest.InDir(filepath.Join(disk, "nats")), func(c *embeddednats.Config) {
		c.JetStreamMaxStore = 1 << 30
	})
	t.Cleanup(s.Shutdown) // before the disk goes
	f, err := os.Create(filepath.Join(disk, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4<<10))
	}
	_ = f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := jslog.Open(ctx, natstest.Connect(t, s), jslog.Config{Healthy: s.Healthy}); err == nil ||
		ctx.Err() != nil {
		t.Fatalf("a log on a full disk: %v (%v)", err, ctx.Err())
	}
}

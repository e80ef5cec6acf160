package diskspace

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
)

func TestRoom(t *testing.T) {
	free, failure := schedule.Size(0), error(nil)
	now := time.Unix(0, 0)
	r := &Watch{
		dir: "/data", logger: slog.New(slog.DiscardHandler), now: func() time.Time { return now },
		free: func(string) (schedule.Size, error) { return free, failure },
	}
	look := func() error { now = now.Add(lookHolds); return r.Check() }
	free = reserve
	if err := look(); err != nil {
		t.Errorf("with the reserve free: %v", err)
	}
	free = 12 * schedule.MiB
	if err := r.Check(); err != nil {
		t.Errorf("looked again too soon: %v", err)
	}
	if err := look(); err == nil ||
		!strings.Contains(err.Error(), "only 12 MiB are free on the disk of the data directory, pawl keeps 64MiB") {
		t.Errorf("with 12 MiB free: %v", err)
	}
	failure = errors.New("no such disk as /data")
	if err := look(); err == nil || strings.Contains(err.Error(), "/data") {
		t.Errorf("got %v", err)
	}
	failure, free = nil, schedule.GiB
	if err := look(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestStoreLimit(t *testing.T) {
	dir := t.TempDir()
	free := func(size schedule.Size) func(string) (schedule.Size, error) {
		return func(string) (schedule.Size, error) { return size, nil }
	}
	limit := func(free func(string) (schedule.Size, error)) int64 {
		t.Helper()
		n, err := StoreLimit(dir, free)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	if got, want := limit(free(100*schedule.MiB)), int64(84*schedule.MiB); got != want {
		t.Errorf("empty: got %d, want %d", got, want)
	}
	if err := os.MkdirAll(filepath.Join(dir, "jetstream", "streams"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "jetstream", "streams", "1.blk"), make([]byte, 3*schedule.MiB),
		0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := limit(free(100*schedule.MiB)), int64(87*schedule.MiB); got != want {
		t.Errorf("what is stored counts too: got %d, want %d", got, want)
	}
	if got, want := limit(free(0)), int64(schedule.MiB); got != want {
		t.Errorf("a full disk: got %d, want %d", got, want)
	}
	broken := func(string) (schedule.Size, error) { return 0, errors.New("no such disk") }
	if got := limit(broken); got != 0 {
		t.Errorf("an unknown disk: got %d, want the broker's own default, 0", got)
	}
	if size, err := Free(dir); err != nil || size <= 0 {
		t.Errorf("this disk: %d, %v", size, err)
	}
}

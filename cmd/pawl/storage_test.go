package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/projections/store"
	"github.com/pawl-run/pawl/projections/store/storetest"
)

// crampedMain is the program on a disk that has as many MiB free as the file says that
// PAWL_TEST_FREE names.
func crampedMain() {
	p := underTest()
	p.with.FreeSpace = func(string) (schedule.Size, error) {
		text, err := os.ReadFile(os.Getenv("PAWL_TEST_FREE"))
		if err != nil {
			return 0, err
		}
		free, err := strconv.Atoi(strings.TrimSpace(string(text)))
		return schedule.Size(free) * schedule.MiB, err
	}
	p.main()
}

// storelessMain is the program on a disk that takes nothing of the store while there is a file where
// PAWL_TEST_FULL says; the log finds room.
func storelessMain() {
	p := underTest()
	p.with.Store = func(c store.Config) store.Config {
		c.FS = storetest.RealDisk(func() bool {
			_, err := os.Stat(os.Getenv("PAWL_TEST_FULL"))
			return err == nil
		})
		return c
	}
	p.main()
}

const smallScript = `export default Keep.workflow({ name: "NAME", topics: { t: {} }, producers: { async p(ctx) {} } });`

// fill deploys large scripts until the engine takes no more, and returns those that it
// acknowledged.
func (d *daemon) fill() (acknowledged []string) {
	d.t.Helper()
	for i := range 1000 {
		name := fmt.Sprintf("w%d", i)
		source := strings.ReplaceAll(smallScript, "NAME", name) + "\n// " + strings.Repeat("x", 200<<10)
		status, answer, err := d.request(http.MethodPost, "/v1/workflows", map[string]string{"source": source})
		switch {
		case err != nil: // it has ended before it could answer
			return acknowledged
		case status == http.StatusCreated:
			acknowledged = append(acknowledged, name)
		case status == http.StatusServiceUnavailable:
			var p rpc.Problem
			if err := json.Unmarshal(answer, &p); err != nil || p.Code != "storage.unavailable" || p.Hint == "" {
				d.t.Errorf("refused with %s", answer)
			}
			return acknowledged
		default:
			d.t.Fatalf("deploy %s: %d %s", name, status, answer)
		}
	}
	d.t.Fatal("the store never became full")
	return nil
}

// endsFull waits for the end that a full store brings about.
func (d *daemon) endsFull() {
	d.t.Helper()
	if code := d.exit(); code != exit.CodeFailed {
		d.t.Errorf("exit code %d, want %d", code, exit.CodeFailed)
	}
	for _, want := range []string{"log storage is full",
		"free space on the disk of .* and start again; nothing that was acknowledged is lost"} {
		if !regexp.MustCompile(want).MatchString(d.text()) {
			d.t.Errorf("it does not say %q:\n%s", want, d.text())
		}
	}
}

// holds wants every acknowledged workflow to be there and to run.
func (d *daemon) holds(acknowledged []string) {
	d.t.Helper()
	d.await("all caught up")
	var page readmodel.Page[readmodel.Workflow]
	d.get("/v1/workflows?limit=1000", &page)
	var names []string
	for _, w := range page.Items {
		names = append(names, string(w.Name))
	}
	for _, name := range acknowledged {
		if !slices.Contains(names, name) {
			d.t.Errorf("%s was acknowledged and is gone", name)
		}
	}
	var runs readmodel.Page[readmodel.Run]
	d.get("/v1/runs?status=committed&limit=1000", &runs)
	if len(runs.Items) < len(acknowledged) {
		d.t.Errorf("%d runs of %d workflows since there is room again", len(runs.Items), len(acknowledged))
	}
}

// A store that reaches its limit ends the engine with a named condition; after space was made it
// goes on, and nothing that was acknowledged is lost.
func TestFullStore(t *testing.T) {
	long(t)
	dir := place(t, map[string]string{"free": "24"})
	t.Setenv("PAWL_TEST_FREE", filepath.Join(dir, "free"))
	d := startDaemon(t, dir, "pawl-cramped", "serve", "--data", "data")
	acknowledged := d.fill()
	if len(acknowledged) < 10 {
		t.Errorf("full after %d", len(acknowledged))
	}
	d.endsFull()
	d = startDaemon(t, dir, "pawl", "serve", "--data", "data")
	d.holds(acknowledged)
	d.stop()
	mustRun(t, dir, 0, "pawl", "verify", "--data", "data")
}

// The same on a disk that another program fills to the last byte.
func TestFullDisk(t *testing.T) {
	long(t)
	t.Parallel()
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mountSmall(disk, "96m"); err != nil {
		t.Skipf("cannot mount a file system to fill: %v", err)
	}
	t.Cleanup(func() {
		if err := unmountSmall(disk); err != nil {
			t.Error(err)
		}
	})
	d := startDaemon(t, disk, "pawl", "serve", "--data", "data")
	d.call(http.StatusCreated, http.MethodPost, "/v1/workflows",
		map[string]string{"source": strings.ReplaceAll(smallScript, "NAME", "first")})
	ballast := filepath.Join(disk, "ballast")
	if err := fillDisk(t.Context(), ballast); err != nil {
		t.Fatal(err)
	}
	acknowledged := append([]string{"first"}, d.fill()...)
	d.endsFull()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	d = startDaemon(t, disk, "pawl", "serve", "--data", "data")
	d.holds(acknowledged)
	d.stop()
	mustRun(t, disk, 0, "pawl", "verify", "--data", "data")
}

// A full disk that only the store meets ends the engine as well, once and by name; a start on it does
// the same, and with room again nothing is missing.
func TestStoreWithoutRoom(t *testing.T) {
	long(t)
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	t.Setenv("PAWL_TEST_FULL", full)
	d := startDaemon(t, dir, "pawl-storeless", "serve", "--data", "data")
	d.call(http.StatusCreated, http.MethodPost, "/v1/workflows",
		map[string]string{"source": strings.ReplaceAll(smallScript, "NAME", "first")})
	write(t, full, "")
	acknowledged := []string{"first"}
	for i := 0; ; i++ { // the store is written behind, so what ends it shows some commits later
		name := fmt.Sprintf("w%d", i)
		status, _, err := d.request(http.MethodPost, "/v1/workflows",
			map[string]string{"source": strings.ReplaceAll(smallScript, "NAME", name)})
		if err != nil || status == http.StatusServiceUnavailable {
			break // it ends, or has ended
		}
		if status != http.StatusCreated {
			t.Fatalf("deploy %s: %d", name, status)
		}
		acknowledged = append(acknowledged, name)
	}
	wantStoreFull := func(text string) {
		t.Helper()
		if n := strings.Count(text, "no space left"); n != 1 || strings.Contains(text, "goroutine") {
			t.Errorf("the reason is said %d times:\n%s", n, text)
		}
		for _, want := range []string{"local store cannot be written: .*no space left",
			"free space on the disk of .* and start again; nothing that was acknowledged is lost"} {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("it does not say %q:\n%s", want, text)
			}
		}
	}
	if code := d.exit(); code != exit.CodeFailed {
		t.Errorf("exit code %d, want %d", code, exit.CodeFailed)
	}
	wantStoreFull(d.text())
	wantStoreFull(mustRun(t, dir, exit.CodeFailed, "pawl-storeless", "serve", "--data", "data"))
	wantStoreFull(mustRun(t, dir, exit.CodeFailed, "pawl-storeless", "verify", "--data", "data"))
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	d = startDaemon(t, dir, "pawl-storeless", "serve", "--data", "data")
	d.holds(acknowledged)
	d.stop()
	mustRun(t, dir, 0, "pawl", "verify", "--data", "data")
}

// A stop that finds no room for the store ends at once, and says what it lacked.
func TestStopWithoutRoom(t *testing.T) {
	long(t)
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	t.Setenv("PAWL_TEST_FULL", full)
	d := startDaemon(t, dir, "pawl-storeless", "serve", "--data", "data")
	d.await("all caught up")
	write(t, full, "")
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := d.exit(); code != exit.CodeFailed {
		t.Errorf("exit code %d, want %d", code, exit.CodeFailed)
	}
	if text := d.text(); strings.Count(text, "no space left") != 1 ||
		!strings.Contains(text, "free space on the disk of ") {
		t.Errorf("it says:\n%s", text)
	}
}

// fillDisk writes a file until the disk takes no more.
func fillDisk(ctx context.Context, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	block := make([]byte, 64<<10)
	for ctx.Err() == nil {
		if _, err := f.Write(block); err != nil {
			if len(block) == 1 {
				return f.Close()
			}
			block = block[:len(block)/2]
		}
	}
	return ctx.Err()
}

// Work that waits for room does not let --until-idle wait for ever.
func TestUntilIdleWithoutRoom(t *testing.T) {
	long(t)
	dir := place(t, map[string]string{
		"free": "20", "good.ts": strings.ReplaceAll(smallScript, "NAME", "good"),
		"pawl.yaml": "policies: {storage: {wait: 500ms}}\n",
	})
	t.Setenv("PAWL_TEST_FREE", filepath.Join(dir, "free"))
	out := mustRun(t, dir, exit.CodeFailed, "pawl-cramped", "up", "good.ts", "--until-idle")
	for _, want := range []string{"no disk space for new work: only 20 MiB are free on the disk of ",
		"free space there and start again"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	// With nothing to do there is nothing to wait for: the room is freed, the work done, the room gone.
	write(t, filepath.Join(dir, "free"), "1000")
	mustRun(t, dir, 0, "pawl-cramped", "up", "good.ts", "--until-idle")
	write(t, filepath.Join(dir, "free"), "20")
	mustRun(t, dir, 0, "pawl-cramped", "up", "good.ts", "--until-idle")
	// And an engine that waits goes on by itself once there is room.
	write(t, filepath.Join(dir, "other.ts"), strings.ReplaceAll(smallScript, "NAME", "other"))
	d := startDaemon(t, dir, "pawl-cramped", "up", "other.ts")
	if status, answer, err := d.request(http.MethodPost, "/v1/workflows/other/topics/t/events",
		map[string]string{"messageId": "1", "title": "One"}); err != nil ||
		status != http.StatusServiceUnavailable || !strings.Contains(string(answer), "only 20 MiB are free") ||
		!strings.Contains(string(answer), "nothing was recorded") {
		t.Errorf("a push without room: %d %s %v", status, answer, err)
	}
	if status, answer, err := d.request(http.MethodGet, "/readyz", nil); err != nil ||
		status != http.StatusServiceUnavailable || !strings.Contains(string(answer), "only 20 MiB are free") ||
		strings.Contains(string(answer), dir) {
		t.Errorf("readiness without room: %d %s %v", status, answer, err)
	}
	write(t, filepath.Join(dir, "free"), "1000")
	d.await("all caught up")
	d.call(http.StatusOK, http.MethodGet, "/readyz", nil)
	d.stop()
}

// A push from outside that is too large is refused whole.
func TestPushTooLarge(t *testing.T) {
	long(t)
	t.Parallel()
	dir := place(t, map[string]string{"good.ts": strings.ReplaceAll(smallScript, "NAME", "good")})
	d := startDaemon(t, dir, "pawl", "up", "good.ts")
	type object = map[string]any
	event := func(id string, size int) object {
		return object{"messageId": id, "title": "Large", "payload": strings.Repeat("x", size)}
	}
	for name, c := range map[string]struct {
		body any
		code string
	}{
		"one of 20 MB":           {event("a", 20<<20), "body.tooLarge"},
		"one of 5 MB":            {event("a", 5<<20), "transition.tooLarge"},
		"many that are too much": {[]object{event("a", 3<<20), event("b", 3<<20)}, "transition.tooLarge"},
	} {
		var p rpc.Problem
		if err := json.Unmarshal(d.call(http.StatusRequestEntityTooLarge, http.MethodPost,
			"/v1/workflows/good/topics/t/events", c.body), &p); err != nil {
			t.Fatal(err)
		}
		if p.Code != c.code || p.Hint == "" || p.Detail == "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	d.call(http.StatusOK, http.MethodPost, "/v1/workflows/good/topics/t/events", event("b", 3<<20))
	var page readmodel.Page[readmodel.Event]
	d.get("/v1/events", &page)
	if len(page.Items) != 1 || page.Items[0].MessageID != "b" {
		t.Errorf("%d events, want the one that was taken", len(page.Items))
	}
	d.stop()
}

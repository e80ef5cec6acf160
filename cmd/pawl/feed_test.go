package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/example"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// The follower of the example in Go.
func TestFeedThroughKills(t *testing.T) {
	long(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "follower")
	goBuild(t, program, "./example/follower", "CGO_ENABLED=0")
	followThroughKills(t, program)
}

// followThroughKills starts the follower that the command names. It lives on while twenty engines are killed, and
// prints every fact of the log once, in the order of the log.
func followThroughKills(t *testing.T, program string, args ...string) {
	t.Helper()
	script, err := example.Files.ReadFile("mail-to-sheet.ts")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"mail-to-sheet.ts": string(script), "sheets/.keep": "", "inbox/cur/.keep": "", "inbox/tmp/.keep": "",
		"pawl.yaml": "connectors:\n  maildir: {root: ./inbox}\n  csv: {root: ./sheets, timeout: 200ms}\n" +
			"policies:\n  reconcile: {base: 50ms, factor: 2, max: 1s, attempts: 5}\nfeed: true\nfeed-bytes: 64MiB\n",
	}
	for i := range 120 {
		files[fmt.Sprintf("inbox/new/1700000%03d.M.host", i)] = fmt.Sprintf(
			"From: a%d@example.org\r\nSubject: Report %d\r\n\r\nText\r\n", i, i)
	}
	dir := place(t, files)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	address := natstest.FreeAddress(t)
	var follower *engineProcess
	for kill := range 20 {
		cmd := command(t, dir, "pawl-killed", "up", "mail-to-sheet.ts", "--nats-listen", address, "--data", "data")
		cmd.Env = append(cmd.Env, fmt.Sprintf("PAWL_TEST_KILL=active:%d", 3+random.IntN(12)))
		engine := spawn(t, cmd)
		if follower == nil {
			// By then it has written its URLs. It may be killed before it says where it answers.
			if !engine.waitFor(regexp.MustCompile(`(?m)^pawl: NATS listens on `), longest) {
				t.Fatalf("the first engine never listened:\n%s", engine.text())
			}
			url := filepath.Join(dir, "data", "nats", "subscriber.url")
			follower = spawn(t, command(t, dir, program, append(args, url, "place.json")...))
		}
		engine.done.Wait()
		if err := engine.cmd.Wait(); err == nil || !strings.Contains(engine.text(), "KILLED") {
			t.Fatalf("engine %d did not die of it: %v\n%s", kill, err, engine.text())
		}
	}
	engine := startDaemon(t, dir, "pawl", "up", "mail-to-sheet.ts", "--nats-listen", address, "--data", "data")
	engine.await("^all caught up")
	want := engine.facts()
	if !follower.waitFor(regexp.MustCompile(`(?m)^\d+ `+want[len(want)-1]+` `), longest) {
		t.Errorf("the follower never printed the last fact, %s:\n%s", want[len(want)-1], engine.text())
	}
	metrics := string(engine.call(http.StatusOK, http.MethodGet, "/metrics", nil))
	mustSay(t, metrics, `^pawl_feed_lag\{partition="0"\} 0$`)
	engine.stop()
	if err := follower.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	follower.done.Wait()
	_ = follower.cmd.Wait() // of the signal
	var got []string
	for _, line := range regexp.MustCompile(`(?m)^(\d+) (\S+) pawl\.`).FindAllStringSubmatch(follower.text(), -1) {
		got = append(got, line[2])
		if n, err := strconv.Atoi(line[1]); err != nil || n != len(got) {
			t.Fatalf("fact %d has the sequence %s", len(got), line[1])
		}
	}
	got = got[:min(len(got), len(want))] // the engine went on after it was asked for its log
	if !slices.Equal(got, want) {
		t.Errorf("the follower printed other facts than the log has; of %d it printed %d", len(want), len(got))
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("the first that differs is %d: %s, want %s", i+1, got[i], want[i])
			}
		}
	}
	t.Logf("%d facts", len(want))
}

// facts are the ids of all facts of the log of these types, or of any, as the feed names them.
func (d *daemon) facts(types ...string) (ids []string) {
	d.t.Helper()
	res, err := d.send(http.MethodGet, "/v1/log", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		event, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var transition struct {
			ID     string
			Events []struct{ Type string }
		}
		if err := json.Unmarshal([]byte(event), &transition); err != nil {
			d.t.Fatal(err)
		}
		for n, fact := range transition.Events {
			if len(types) == 0 || slices.Contains(types, fact.Type) {
				ids = append(ids, fmt.Sprintf("%s-%d", transition.ID, n+1))
			}
		}
	}
	return ids
}

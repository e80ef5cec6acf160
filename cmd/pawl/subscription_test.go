package main

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/example"
)

// A receiver that refuses one webhook in eight is sent every fact of the log, in its order, although fifteen engines
// are killed meanwhile. Without those that come again with the id that they had, it has exactly the log.
func TestSubscriptionThroughKills(t *testing.T) {
	long(t)
	t.Parallel()
	script, err := example.Files.ReadFile("mail-to-sheet.ts")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random, luck := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	r := newReceiver()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.status = http.StatusOK
		if luck.IntN(8) == 0 {
			r.status = http.StatusInternalServerError
		}
		r.mu.Unlock()
		r.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	files := map[string]string{
		"mail-to-sheet.ts": string(script), "sheets/.keep": "", "inbox/cur/.keep": "", "inbox/tmp/.keep": "",
		"secret": webhookSecret,
		"pawl.yaml": "connectors:\n  maildir: {root: ./inbox}\n  csv: {root: ./sheets, timeout: 200ms}\n" +
			"policies:\n  transient: {base: 10ms, factor: 2, max: 1s}\n" +
			"  reconcile: {base: 50ms, factor: 2, max: 1s, attempts: 5}\nfeed: true\nfeed-bytes: 64MiB\n" +
			"subscriptions:\n  everything: {url: \"" + server.URL + "\", secret: \"${file:secret}\", private: true}\n",
	}
	for i := range 60 {
		files[fmt.Sprintf("inbox/new/1700000%03d.M.host", i)] = fmt.Sprintf(
			"From: a%d@example.org\r\nSubject: Report %d\r\n\r\nText\r\n", i, i)
	}
	dir := place(t, files)
	for kill := range 15 {
		cmd := command(t, dir, "pawl-killed", "up", "mail-to-sheet.ts", "--data", "data")
		cmd.Env = append(cmd.Env, fmt.Sprintf("PAWL_TEST_KILL=active:%d", 3+random.IntN(12)))
		engine := spawn(t, cmd)
		engine.done.Wait()
		if err := engine.cmd.Wait(); err == nil || !strings.Contains(engine.text(), "KILLED") {
			t.Fatalf("engine %d did not die of it: %v\n%s", kill, err, engine.text())
		}
	}
	engine := startDaemon(t, dir, "pawl", "up", "mail-to-sheet.ts", "--data", "data")
	engine.await("^all caught up")
	want := engine.facts()
	last := want[len(want)-1]
	if !r.wait(func(bodies []string) bool {
		return slices.ContainsFunc(bodies, func(body string) bool { return strings.Contains(body, `"id":"`+last+`"`) })
	}, longest) {
		t.Errorf("the last fact, %s, was never delivered:\n%s", last, engine.text())
	}
	metrics := string(engine.call(http.StatusOK, http.MethodGet, "/metrics", nil))
	mustSay(t, metrics, `^pawl_subscription_parked\{subscription="everything"\} 0$`)
	engine.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused != nil {
		t.Errorf("a webhook was not signed: %v", r.refused)
	}
	var got []string
	seen := map[string]bool{}
	for _, id := range r.ids {
		if !seen[id] {
			seen[id] = true
			got = append(got, id)
		}
	}
	got = got[:min(len(got), len(want))] // the engine went on after it was asked for its log
	if !slices.Equal(got, want) {
		t.Errorf("of %d facts %d were delivered, or not in their order", len(want), len(got))
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("the first that differs is %d: %s, want %s", i+1, got[i], want[i])
			}
		}
	}
	t.Logf("%d facts, %d deliveries", len(want), len(r.ids))
}

// A receiver that refuses everything and repeats what it was sent, and the secret that it knows, makes neither its
// address nor the secret show anywhere: not in what is printed and logged, in metrics, or below the data directory.
func TestSecretsOfReceiversAreFoundNowhere(t *testing.T) {
	long(t)
	t.Parallel()
	key := base64.StdEncoding.EncodeToString([]byte("the planted key of webhooks"))
	asked := make(chan struct{}, 1000)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, "no %s %s whsec_%s", r.URL.Path, r.URL, key)
		select {
		case asked <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(receiver.Close)
	dir := place(t, map[string]string{
		"orders.ts": strings.ReplaceAll(carrying, "HOST", "127.0.0.1:1"),
		"address":   receiver.URL + "/planted/T0?x=planted", "key": "whsec_" + key + "\n",
		"pawl.yaml": "data: data\nfeed: true\nconnectors: {http: {hosts: {\"127.0.0.1:1\": {private: true}}}}\n" +
			"secrets:\n  SHOP: {value: \"${file:key}\", hosts: []}\n  KEY: {value: \"${file:key}\"}\n" +
			"subscriptions:\n  a: {url: \"${file:address}\", secret: KEY, private: true}\n" +
			"alerts:\n  b: {url: \"${file:address}\", secret: \"${file:key}\", private: true}\n",
	})
	p := startDaemon(t, dir, "pawl", "up", "orders.ts", "--grant", "http.post=allow")
	printed := mustRun(t, dir, 0, "pawl", "push", "orders", "orders", "--id", "1", "{}")
	for range 3 {
		<-asked
	}
	p.await(`a message is not delivered`)
	for _, line := range []string{"subscriptions", "subscriptions list --json", "log"} {
		printed += mustRun(t, dir, 0, "pawl", strings.Fields(line)...)
	}
	printed += string(p.call(http.StatusOK, http.MethodGet, "/v1/diagnostics", nil))
	printed += string(p.call(http.StatusOK, http.MethodGet, "/metrics", nil))
	if !strings.Contains(printed, "answered 500: no *** *** ***") {
		t.Errorf("nothing says why it fails:\n%s", printed)
	}
	p.stop()
	printed += p.text()
	err := filepath.WalkDir(filepath.Join(dir, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, planted := range []string{"planted/T0", "x=planted", key} {
			if strings.Contains(string(content), planted) {
				t.Errorf("%s holds %s", path, planted)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, planted := range []string{"planted", key} {
		if at := strings.Index(printed, planted); at >= 0 {
			t.Errorf("%s was printed: %s", planted, printed[max(0, at-100):min(len(printed), at+100)])
		}
	}
}

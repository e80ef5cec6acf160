package main

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// natsLines are the commands of nats that the page of the feed shows.
func natsLines(t *testing.T) (lines []string) {
	t.Helper()
	for line := range strings.Lines(read(t, "../../ops/FEED.md")) {
		if rest, ok := strings.CutPrefix(line, "nats "); ok {
			lines = append(lines, strings.ReplaceAll(strings.TrimSpace(rest), "'", ""))
		}
	}
	return lines
}

// The official command lists and follows the feed with the subscriber's URL, as the page says. What changes anything
// it is refused.
func TestNATSCommand(t *testing.T) {
	t.Parallel()
	program := installed(t, "nats")
	dir := placeMailToSheet(t)
	engine := startDaemon(t, dir, "pawl", "up", "mail-to-sheet.ts", "--nats-listen", "127.0.0.1:0", "--data", "data")
	engine.await("^all caught up")
	url := strings.TrimSpace(read(t, filepath.Join(dir, "data", "nats", "subscriber.url")))
	arguments := func(line string) []string {
		return append([]string{"--server", url, "--timeout", "60s"}, strings.Fields(line)...)
	}
	start := func(line string) *engineProcess {
		cmd := command(t, dir, program, arguments(line)...)
		cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+filepath.Join(dir, "config")) // not the tester's own contexts
		return spawn(t, cmd)
	}
	prints := map[string]string{
		"stream ls":             `(?s)PAWL_FEED .*Pawl's feed`,
		"stream info PAWL_FEED": `Subjects: pawl\.feed\.>`,
		"stream get PAWL_FEED 1": `(?s)PAWL_FEED#1 received .* Subject pawl\.feed\.mail-to-sheet\.workflow\.deployed.*` +
			`ce-type: pawl\.workflow\.deployed\.v1`,
	}
	follows, tried := "", 0
	for _, line := range natsLines(t) {
		switch want, ok := prints[line]; {
		case strings.HasPrefix(line, "sub "):
			follows = line
		case strings.HasPrefix(line, "stream view "): // it asks for a terminal
		case !ok:
			t.Errorf("nothing is said of what nats %s prints", line)
		default:
			said := start(line)
			if tried++; !said.waitFor(regexp.MustCompile(want), longest) {
				t.Errorf("nats %s:\n%s", line, said.text())
			}
			said.done.Wait()
			if err := said.cmd.Wait(); err != nil {
				t.Errorf("nats %s: %v\n%s", line, err, said.text())
			}
		}
	}
	if tried != len(prints) || follows == "" {
		t.Errorf("the page shows %d of these commands, and %q to follow", tried, follows)
	}

	// It follows: a fact that is recorded while it listens arrives, and no other type does.
	sub := start(follows)
	if !sub.waitFor(regexp.MustCompile(`subject: pawl\.feed\.mail-to-sheet\.run\.committed`), longest) {
		t.Fatalf("nats %s:\n%s", follows, sub.text())
	}
	before := engine.facts("run.committed")
	engine.call(http.StatusOK, http.MethodPost, "/v1/workflows/mail-to-sheet/run-now", nil)
	engine.atRest("mail-to-sheet")
	after := engine.facts("run.committed")
	last := after[len(after)-1]
	if len(after) == len(before) {
		t.Fatalf("no run has ended since %s", last)
	}
	if !sub.waitFor(regexp.MustCompile(`ce-id: `+last+`\b`), longest) {
		t.Fatalf("nats %s never printed %s:\n%s", follows, last, sub.text())
	}
	if other := regexp.MustCompile(`ce-type: pawl\.(event|handler|session)\.`).FindString(sub.text()); other != "" {
		t.Errorf("nats %s prints %s", follows, other)
	}
	if err := sub.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	sub.done.Wait()
	_ = sub.cmd.Wait() // of the signal

	refused := regexp.MustCompile(`no responders|[Pp]ermissions [Vv]iolation|jetstream not enabled`)
	for _, line := range []string{"stream purge PAWL_FEED --force", "stream rm PAWL_FEED --force",
		"stream rmm PAWL_FEED 1 --force", "stream edit PAWL_FEED --max-msgs 1 --force",
		"stream add X --subjects x --defaults", "pub pawl.feed.w.run.committed {}", "kv add X"} {
		said := start(line)
		said.done.Wait()
		if err := said.cmd.Wait(); err == nil || !refused.MatchString(said.text()) {
			t.Errorf("nats %s (%v):\n%s", line, err, said.text())
		}
	}
	engine.stop()
}

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// A tool with a user of its own is the only one that is believed about its name, and that gets its calls;
// the user stays over a restart and goes when it is taken away.
func TestToolUsers(t *testing.T) {
	long(t)
	t.Parallel()
	w := newToolWorld(t, impatient)
	w.await(w.engine, `example\.js waits for gmail\.search, sheets\.appendRow`)
	// It serves already, as all tools may: with its own user it is not believed any more.
	thief, _ := w.tool(w.address(), "-serve", "appendRow,rowStatus,countRows")
	w.await(w.engine, `connected as the user that all tools share`)

	out := mustRun(t, w.dir, 0, "pawl", "connectors", "add", "sheets")
	if text := w.engine.text(); strings.Contains(text, "authentication error") {
		t.Errorf("the log complains of a tool that is being added:\n%s", text)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	own, err := url.Parse(lines[len(lines)-1])
	if err != nil || own.User.Username() != "tool-sheets" {
		t.Fatalf("add: %s", out)
	}
	file := filepath.Join(w.dir, ".pawl", "nats", "tools", "sheets.url")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 ||
		strings.TrimSpace(read(t, file)) != own.String() {
		t.Errorf("%s: %v, %v", file, info, err)
	}
	mustRun(t, w.dir, 1, "pawl", "connectors", "add", "sheets")
	mustRun(t, w.dir, 2, "pawl", "connectors", "add", "pawl")
	mustRun(t, w.dir, 2, "pawl", "connectors", "add", "csv")
	mustRun(t, w.dir, 2, "pawl", "connectors", "add", "../sheets")
	mustRun(t, w.dir, 1, "pawl", "connectors", "remove", "fax")
	out = mustRun(t, w.dir, 0, "pawl", "connectors", "list")
	for _, line := range []string{`user: sheets has a user of its own, with no connection now`,
		`refused: service sheets is not used: it has a user of its own, and an instance connected as another`} {
		if !regexp.MustCompile("(?m)^" + line).MatchString(out) {
			t.Errorf("list lacks %s:\n%s", line, out)
		}
	}
	if strings.Contains(out, "sheets.appendRow") {
		t.Errorf("the shared user is believed:\n%s", out)
	}

	// The commands find it where it is.
	w.tool(own, "-serve", "appendRow,rowStatus,countRows")
	if out := mustRun(t, w.dir, 0, "pawl", "connectors", "check", "sheets"); !strings.Contains(out, "0 kept, 0 broken") {
		t.Errorf("check:\n%s", out)
	}
	if out := mustRun(t, w.dir, 0, "pawl", "connectors", "list"); !strings.Contains(out, "with 1 connection now") {
		t.Errorf("list:\n%s", out)
	}
	w.tool(w.address(), "-serve", "search")
	d := w.awaitRest()
	w.wantRows(1)
	if strings.Contains(thief.text(), "row ") {
		t.Errorf("the call went to another tool:\n%s", thief.text())
	}

	mustRun(t, w.dir, 0, "pawl", "connectors", "remove", "sheets")
	w.await(w.engine, `a tool has no user of its own any more.*connector=sheets`)
	if nc, err := nats.Connect(own.String()); err == nil {
		nc.Close()
		t.Error("its password is good still")
	}
	d.stop()
}

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector/imap/imaptest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// archive is the recipe that archives a mailbox, as it runs with a server of mails.
type archive struct {
	*daemon
	t       *testing.T
	dir     string
	server  *imaptest.Server
	up      []string
	printed string
}

// Recipe 11: a mistake in next stops the workflow when a mail's file is written, and the engine is killed; with the
// mended script each mail is archived, once. The mailbox stays as it was, and the password is found nowhere.
func TestRecipeMailArchive(t *testing.T) {
	long(t)
	t.Parallel()
	const password = "planted-s3cret"
	t.Run("within", func(t *testing.T) {
		t.Parallel()
		testMailArchive(t, imaptest.Start(t, password))
	})
	t.Run("Dovecot", func(t *testing.T) {
		t.Parallel()
		testMailArchive(t, imaptest.StartDovecot(t, password))
	})
}

func testMailArchive(t *testing.T, server *imaptest.Server) {
	part := pagePartOf(t, "11. Archive a mailbox, and mend a mistake")
	mended := part.code(t, "ts")
	if lines := strings.Count(mended, "\n"); lines > 45 {
		t.Errorf("%q has %d lines", part.heading, lines)
	}
	const right, mistake = `data.date?.slice(0, 10) ?? "no date"`, `data.date.slice(0, 10)`
	first := strings.Replace(mended, right, mistake, 1)
	if first == mended || !strings.Contains(part.prose, "`"+mistake+"`") {
		t.Fatalf("the recipe does not show its mistake, %s, and what mends it", mistake)
	}
	settings := strings.NewReplacer("imap.example.com:993", server.Address, "ann@example.com", imaptest.Username).
		Replace(part.code(t, "yaml"))
	a := &archive{t: t, server: server, dir: place(t, map[string]string{
		"archive.ts": first, "mended.ts": mended, "archive/.keep": "",
		"pawl.yaml": "data: data\nclock: manual\nclock-start: " + recipeStart + "\n" + settings,
	})}
	commands := part.commands(t)
	a.up = strings.Fields(commands[0])[1:]
	for _, script := range []string{"archive.ts", "mended.ts"} {
		if out := mustRun(t, a.dir, 0, "pawl", "validate", script); strings.Contains(out, "warning") {
			t.Errorf("%s: %s", script, out)
		}
	}
	a.put("One", "Date: Mon, 02 Mar 2026 10:00:00 +0000\n")
	a.put("Two", "")
	a.put("Three", "Date: Tue, 03 Mar 2026 10:00:00 +0000\n")
	before := server.Holds(t, "INBOX")

	a.start()
	a.wantArchived("One", "Two") // the file of the second one is written, and next has failed
	a.wantStopped(commands[1], first, mistake)
	a.kill()
	a.printed += a.text()
	a.start()
	a.advance("5m")
	a.wantArchived("One", "Two")
	a.wantStopped(commands[1], first, mistake)

	a.printed += mustRun(t, a.dir, 0, "pawl", strings.Fields(commands[2])[1:]...)
	a.rest()
	a.wantArchived("One", "Two", "Three")
	a.put("Four", "")
	a.advance("1m")
	a.wantArchived("One", "Two", "Three", "Four")
	a.advance("10m")
	a.wantArchived("One", "Two", "Three", "Four")
	var archived readmodel.Page[readmodel.Event]
	a.get("/v1/workflows/archive/events?topic=mail.archived", &archived)
	var titles []string
	for _, e := range archived.Items {
		day, _, _ := strings.Cut(e.Title, ":")
		titles = append(titles, day)
	}
	if !slices.Equal(titles, []string{"2026-03-02", "no date", "2026-03-03", "no date"}) {
		t.Errorf("next has published %q\n%s", titles, a.text())
	}
	if after := server.Holds(t, "INBOX"); len(after) != 4 || !slices.Equal(after[:3], before) {
		t.Errorf("the mailbox was %q and is %q", before, after)
	}
	a.stop()
	a.wantNoPassword()
}

// start starts the engine as the recipe says, and waits until nothing is left to do.
func (a *archive) start() {
	a.t.Helper()
	cmd := command(a.t, a.dir, "pawl", a.up...)
	cmd.Env = append(cmd.Env, "IMAP_PASSWORD="+a.server.Password)
	p := spawn(a.t, cmd)
	a.t.Cleanup(func() { // before the directory goes
		_ = p.cmd.Process.Kill()
		p.done.Wait()
		_ = p.cmd.Wait()
	})
	a.daemon = answering(a.t, p)
	a.await(`^all caught up|needs a person|maintenance`)
	a.rest()
}

// put delivers a mail.
func (a *archive) put(subject, date string) {
	a.t.Helper()
	a.server.Put(a.t, "INBOX", fmt.Sprintf("From: Ann <ann@example.com>\nSubject: %s\n%s\nHi", subject, date),
		time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC))
}

// wantArchived wants a file for each of these mails, and one call for each file.
func (a *archive) wantArchived(subjects ...string) {
	a.t.Helper()
	var page readmodel.Page[readmodel.Mutation]
	a.get("/v1/workflows/archive/mutations", &page)
	var called, kept []string
	for _, m := range page.Items {
		var params struct{ Path, Content string }
		var mail struct{ Subject, Text string }
		if err := json.Unmarshal(m.Params, &params); err != nil {
			a.t.Fatal(err)
		}
		content := read(a.t, filepath.Join(a.dir, "archive", params.Path))
		if err := json.Unmarshal([]byte(content), &mail); err != nil || content != params.Content ||
			strings.TrimSpace(mail.Text) != "Hi" || m.Status != eventlog.MutationStatusApplied {
			a.t.Errorf("%s is %s and holds %s, %v", params.Path, m.Status, content, err)
		}
		called = append(called, mail.Subject)
		if !slices.Contains(kept, params.Path) {
			kept = append(kept, params.Path)
		}
	}
	files, err := filepath.Glob(filepath.Join(a.dir, "archive", "*.json"))
	if err != nil {
		a.t.Fatal(err)
	}
	if !slices.Equal(called, subjects) || len(kept) != len(subjects) || len(files) != len(subjects) {
		a.t.Errorf("calls were made for %q, and there are the files %q; want %q\n%s", called, files, subjects, a.text())
	}
}

// wantStopped wants the command to say where the script has failed, and how the workflow goes on.
func (a *archive) wantStopped(why, script, mistake string) {
	a.t.Helper()
	said := mustRun(a.t, a.dir, 3, "pawl", strings.Fields(why)[1:]...)
	a.printed += said
	line := 1 + strings.Count(script[:strings.Index(script, mistake)], "\n")
	for _, want := range []string{"maintenance", fmt.Sprint("line ", line), "next", "pawl repair archive FILE"} {
		if !strings.Contains(said, want) {
			a.t.Errorf("%s does not say %q:\n%s", why, want, said)
		}
	}
}

// wantNoPassword wants the server's password nowhere in what was printed and kept.
func (a *archive) wantNoPassword() {
	a.t.Helper()
	wantNoSecret(a.t, "what was printed", []byte(a.printed+a.text()), a.server.Password)
	err := filepath.WalkDir(filepath.Join(a.dir, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		wantNoSecret(a.t, path, content, a.server.Password)
		return err
	})
	if err != nil {
		a.t.Error(err)
	}
}

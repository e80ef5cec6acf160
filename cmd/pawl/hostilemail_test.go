//go:build unix

package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/example"
)

// mailReport writes a row per mail: what is wrong with it as list says, else its text as get says.
const mailReport = `export default Keep.workflow({
  name: "mail-report",
  topics: { mail: {} },
  producers: {
    inbox: Keep.producer({ interval: "1s", publishes: ["mail"], async poll(ctx) {
      let after = null;
      do {
        const page = await ctx.maildir.list({ after });
        for (const m of page.mails) await ctx.publish("mail", { messageId: m.id, title: m.id, payload: { id: m.id, error: m.error ?? "" } });
        after = page.next;
      } while (after);
    } }),
  },
  consumers: {
    row: Keep.consumer({ subscribe: ["mail"], async prepare(ctx) {
      const [event] = await ctx.peek("mail", { limit: 1 });
      if (!event) return { reservations: [], data: null };
      const { id, error } = event.payload;
      const mail = await ctx.maildir.get({ id });
      return { reservations: [{ topic: "mail", ids: [event.messageId] }], data: { id, error, again: mail.error ?? "", text: mail.text.trim().slice(0, 20) } };
    }, async mutate(ctx, { data }) {
      if (data) await ctx.csv.appendRow({ file: "report.csv", header: ["id", "error", "again", "text"], values: data });
    } }),
  },
});`

// An inbox with mails that were made to exhaust their reader: the engine lives and stays small, the
// good mails beside them arrive, and each of the bad ones is listed with its reason. After a restart, with all
// of them still there, the same.
func TestHostileMailsInAnInbox(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a parser and takes mails of many megabytes apart: left out by -short")
	}
	t.Parallel()
	const head = "From: e@example.com\r\nSubject: hi\r\n"
	var bomb strings.Builder
	bomb.WriteString(head + "Content-Type: text/html\r\n\r\n<p>")
	for i := range 400 {
		fmt.Fprintf(&bomb, "<b id=%d>", i)
	}
	bomb.WriteString(strings.Repeat("<p>x", 20_000))
	parts := head + "Content-Type: multipart/mixed; boundary=B\r\n\r\n"
	dir := place(t, map[string]string{
		"mail-report.ts": mailReport, "sheets/.keep": "", "inbox/cur/.keep": "", "inbox/tmp/.keep": "",
		"pawl.yaml":        "connectors:\n  maildir: {root: ./inbox, timeout: 2m}\n  csv: {root: ./sheets}\n",
		"inbox/new/1.good": head + "\r\nfirst\r\n",
		"inbox/new/2.html": bomb.String(),
		"inbox/new/3.many": parts + strings.Repeat("--B\r\n\r\nx\r\n", 200_000),
		"inbox/new/4.hard": parts + strings.Repeat("x--B \r\n\r\nx\r\n", 200_000),
		"inbox/new/5.good": head + "\r\nlast\r\n",
	})
	parser := filepath.Join(t.TempDir(), "parser") // as a release has it: with its own speed and memory
	goBuild(t, parser, "../../engine/connector/mailparse/testdata/parser", "CGO_ENABLED=0")
	want := map[string]string{
		"1.good": " | first",
		"2.html": "its HTML nests more than 100 elements that format text",
		"3.many": "the mail has more than 1000 parts",
		"4.hard": "it takes more than ",
		"5.good": " | last",
	}
	upWithMails(t, dir, parser)
	if got := mailRows(t, dir); !agree(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	write(t, filepath.Join(dir, "inbox", "new", "6.good"), head+"\r\nnew\r\n")
	want["6.good"] = " | new"
	// A start only looks into the inbox once it is due again.
	for range 20 {
		upWithMails(t, dir, parser)
		if len(mailRows(t, dir)) == len(want) {
			break
		}
	}
	if got := mailRows(t, dir); !agree(got, want) {
		t.Errorf("after a restart: rows %v, want %v", got, want)
	}
}

// Mails with the longest headers there are, more than one run may publish together, do not hold the example up.
func TestAFloodOfLongMails(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a row for each of 110 mails: left out by -short")
	}
	t.Parallel()
	script, err := example.Files.ReadFile("mail-to-sheet.ts")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"mail-to-sheet.ts": string(script), "sheets/.keep": "",
		"pawl.yaml": "connectors:\n  maildir: {root: ./inbox, timeout: 2m}\n  csv: {root: ./sheets}\n"}
	long := fmt.Sprintf("From: %s <e@example.com>\r\nSubject: %s\r\n\r\ntext\r\n", strings.Repeat("n", 8000),
		strings.Repeat("s", 8100))
	const mails = 110
	for i := range mails {
		files[fmt.Sprintf("inbox/%03d.eml", i)] = long
	}
	dir := place(t, files)
	upOn(t, dir, "mail-to-sheet.ts", "")
	rows, err := os.ReadFile(filepath.Join(dir, "sheets", "reports.csv"))
	if n := strings.Count(string(rows), "\n"); err != nil || n != 1+mails {
		t.Errorf("%d lines, %v", n, err)
	}
}

// upWithMails runs the engine until it is idle, in little memory.
func upWithMails(t *testing.T, dir, parser string) {
	t.Helper()
	upOn(t, dir, "mail-report.ts", parser)
}

// upOn is upWithMails with another script.
func upOn(t *testing.T, dir, script, parser string) {
	t.Helper()
	cmd := programCommand(t, "pawl-measured", "up", script, "--until-idle", "--data", "data")
	cmd.Dir = dir
	peak := filepath.Join(t.TempDir(), "peak")
	cmd.Env = append(cmd.Env, "PAWL_TEST_PEAK="+peak, "PAWL_HTTP=127.0.0.1:0", "GORACE=atexit_sleep_ms=0", "NO_COLOR=1")
	if parser != "" {
		cmd.Env = append(cmd.Env, plainParser+"="+parser)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("up: %v\n%s", err, out)
	}
	const most = 768 << 10 // KiB
	text, err := os.ReadFile(peak)
	used, wrong := strconv.Atoi(string(text))
	if err := errors.Join(err, wrong); err != nil || used > most {
		t.Errorf("it took %d MiB (%v)", used>>10, err)
	}
}

func init() { mains["pawl-measured"] = measuredMain }

// measuredMain runs the program, and writes into the file PAWL_TEST_PEAK the most that the program, or a process that
// it started, has held at once, in KiB. The kernel counts for a new program what the process that starts it has held:
// so the tests, which may hold more than the program, do not start it themselves.
func measuredMain() {
	cmd := exec.Command("pawl", os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		panic(err)
	}
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS != "linux" { // elsewhere it is counted in other units
		used = 0
	}
	if err := os.WriteFile(os.Getenv("PAWL_TEST_PEAK"), []byte(strconv.Itoa(int(used))), 0o600); err != nil {
		panic(err)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// mailRows are the rows of the report by mail: the reason, if list and get agree about it, or the text.
func mailRows(t *testing.T, dir string) map[string]string {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, "sheets", "report.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for _, r := range records[1:] {
		id, listed, got, text := r[0], r[1], r[2], r[3]
		if _, twice := rows[id]; twice || listed != got {
			t.Errorf("row %q: list says %q, get %q, twice %v", id, listed, got, twice)
		}
		rows[id] = listed + " | " + text
	}
	return rows
}

func agree(got, want map[string]string) bool {
	return maps.EqualFunc(got, want, strings.HasPrefix)
}

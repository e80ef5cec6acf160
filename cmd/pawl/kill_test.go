package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/example"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// killedMain is the program with a death sentence in its environment: PAWL_TEST_KILL is
// `any:N`, die at the N-th transition of this process, `active:N`, at the N-th that leaves a run
// active, `applied:N`, at the N-th with an applied mutation, `before:N` or `after:N`, inside the N-th
// mutation call, before or after it took effect. The death is SIGKILL.
func killedMain() {
	mode, at, found := strings.Cut(os.Getenv("PAWL_TEST_KILL"), ":")
	n, err := strconv.Atoi(at)
	if found && err != nil {
		panic(err)
	}
	d := &doom{mode: mode, left: n}
	p := underTest()
	p.with.Observe = d.observe
	p.with.Connectors = func(c engine.Connectors) engine.Connectors { return doomedConnectors{c, d} }
	p.main()
}

// doom knows when to die, and what was going on then.
type doom struct {
	mode string

	mu               sync.Mutex
	left             int
	active, inFlight bool
}

func (d *doom) observe(r eventlog.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	applied := false
	for _, f := range r.Facts {
		switch f.(type) {
		case *eventlog.RunStarted:
			d.active = true
		case *eventlog.RunCommitted, *eventlog.RunFailed, *eventlog.RunCrashed:
			d.active = false
		case *eventlog.MutationStarted:
			d.inFlight = true
		case *eventlog.MutationApplied:
			d.inFlight, applied = false, true
		case *eventlog.MutationFailed:
			d.inFlight = false
		}
	}
	if d.mode == "any" || d.mode == "active" && d.active || d.mode == "applied" && applied {
		d.count()
	}
}

func (d *doom) call(when string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mode == when {
		d.count()
	}
}

func (d *doom) count() {
	if d.left--; d.left == 0 {
		fmt.Fprintf(os.Stderr, "KILLED active=%v inFlight=%v\n", d.active, d.inFlight)
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {}
	}
}

// doomedConnectors are slow, so that there is an inside of a call to die in.
type doomedConnectors struct {
	outside
	doom *doom
}

// outside is an alias: embedded under its own name it would hide its method Connectors.
type outside = engine.Connectors

func (c doomedConnectors) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	c.doom.call("before")
	slow := time.NewTimer(2 * time.Millisecond)
	<-slow.C
	out := c.outside.Perform(ctx, call)
	c.doom.call("after")
	return out
}

const (
	killMails = 200
	kills     = 50
)

// oddNames are what a name may hold that the id of an event may not, and what people quote wrongly.
var oddNames = []string{"\n", "\t", "\\", " ", "\uFFFD", "\u0085", "%0A", "'\"", "漢"}

// Fifty times the process is killed with SIGKILL while 200 mails become 200 rows. In the end there
// is exactly one row per mail, the log verifies, and no event is left reserved without a run.
func TestKill(t *testing.T) {
	long(t)
	t.Parallel()
	dir := t.TempDir()
	writeKillInbox(t, filepath.Join(dir, "inbox"))
	script, err := example.Files.ReadFile("mail-to-sheet.ts")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "mail-to-sheet.ts"), string(script))
	write(t, filepath.Join(dir, "pawl.yaml"),
		"connectors:\n  maildir: {root: ./inbox}\n  csv: {root: ./sheets, timeout: 200ms}\n"+
			"policies:\n  reconcile: {base: 50ms, factor: 2, max: 1s, attempts: 5}\n")
	if err := os.Mkdir(filepath.Join(dir, "sheets"), 0o755); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("PAWL_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("repeat with PAWL_TEST_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 1))

	met := map[string]int{}
	for range kills {
		sentence := fmt.Sprintf("active:%d", 1+random.IntN(9))
		switch random.IntN(10) {
		case 0:
			sentence = fmt.Sprintf("any:%d", 1+random.IntN(9))
		case 1, 2:
			sentence = fmt.Sprintf("before:%d", 1+random.IntN(3))
		case 3, 4:
			sentence = fmt.Sprintf("after:%d", 1+random.IntN(3))
		}
		out, err := killedUp(t, dir, sentence)
		if err == nil {
			t.Fatalf("the process with %s ended by itself:\n%s", sentence, out)
		}
		_, report, found := strings.Cut(out, "KILLED ")
		if !found {
			t.Fatalf("the process with %s did not die of it: %v\n%s", sentence, err, out)
		}
		report, _, _ = strings.Cut(report, "\n")
		for _, field := range strings.Fields(report) {
			met[field]++
		}
	}
	t.Logf("kills met %v", met)
	if met["active=true"] < 40 || met["inFlight=true"] < 10 {
		t.Fatalf("%d kills met %v; want 40 with an active run and 10 with a mutation in flight", kills, met)
	}
	out, err := killedUp(t, dir, "")
	if err != nil {
		t.Fatalf("the last run failed: %v\n%s", err, out)
	}
	if strings.Contains(out, "held by no run") {
		t.Fatalf("a reservation is orphaned:\n%s", out)
	}
	checkKillRows(t, filepath.Join(dir, "sheets", "reports.csv"))
	verify := programCommand(t, "pawl", "verify", "--data", filepath.Join(dir, "data"))
	verify.Dir = dir
	if out, err := verify.CombinedOutput(); err != nil {
		t.Fatalf("verify: %v\n%s", err, out)
	}
}

func killedUp(t *testing.T, dir, sentence string) (string, error) {
	t.Helper()
	cmd := programCommand(t, "pawl-killed", "up", "mail-to-sheet.ts", "--until-idle", "--http", "127.0.0.1:0",
		"--data", "data")
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0", "NO_COLOR=1")
	if sentence != "" {
		cmd.Env = append(cmd.Env, "PAWL_TEST_KILL="+sentence)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func writeKillInbox(t *testing.T, inbox string) {
	t.Helper()
	for _, sub := range []string{"cur", "new", "tmp"} {
		if err := os.MkdirAll(filepath.Join(inbox, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range killMails {
		name := fmt.Sprintf("17000%05d.M%d.host", i, i)
		if i%10 == 0 {
			name += oddNames[i/10%len(oddNames)] // a file name is any bytes
		}
		write(t, filepath.Join(inbox, "new", name), fmt.Sprintf(
			"From: Sender %d <sender%d@example.org>\r\nTo: reports@example.com\r\nSubject: =?UTF-8?Q?Report_n=C2=B0_%d?=\r\n"+
				"Date: Mon, 02 Mar 2026 10:%02d:%02d +0000\r\nMessage-ID: <m%d@example.org>\r\nContent-Type: text/plain; "+
				"charset=utf-8\r\n\r\nBody of report %d.\r\n",
			i, i, i, i/60%60, i%60, i, i))
	}
	write(t, filepath.Join(inbox, "new", "1700099999.M0.host"), "this is no mail\x00\x01\x02 at all")
}

func checkKillRows(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatalf("read the sheet: %v", err)
	}
	subjects := map[string]int{}
	for _, row := range rows[1:] {
		subjects[row[2]]++
	}
	for i := range killMails {
		subject := fmt.Sprintf("Report n° %d", i)
		if subjects[subject] != 1 {
			t.Errorf("%q has %d rows", subject, subjects[subject])
		}
	}
	if len(rows)-1 != killMails {
		t.Errorf("%d rows for %d mails", len(rows)-1, killMails)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// underTest is the program with nothing at its default address, and with the processes that its environment names.
func underTest() program {
	p := program{http: "127.0.0.1:1"}
	if path := os.Getenv(plainWorker); path != "" {
		p.with.Worker = func() *exec.Cmd { return exec.Command(path) }
	}
	if path := os.Getenv(plainParser); path != "" {
		p.with.MailParser = func() *exec.Cmd { return exec.Command(path) }
	}
	return p
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && slices.Contains([]string{"worker", "parse-mail", "tool-process", "bench-world"}, os.Args[1]) {
		underTest().main() // this program was started again inside of a test: to run scripts, read mails, or be measured
	}
	testscript.Main(suite{m}, mains)
}

// plainWorker and plainParser name, in the environment of a program under test, the worker that it runs scripts in,
// and the process that takes mails apart for it.
const (
	plainWorker = "PAWL_TEST_WORKER"
	plainParser = "PAWL_TEST_PARSER"
)

// quickScript is the one with nearly all commands: a quick look runs it alone.
const quickScript = "client"

// plainScripts are those whose commands do one thing and end. They go without the race detector, with which each of
// their hundreds of starts costs four times as much. It stays with the engines that these scripts start and with what
// they follow, and with the commands of the other scripts: client has nearly all, and the rest runs an engine, watches
// or maintains.
var plainScripts = []string{"alerts", "alone", "archive", "asyncapi", "attention", "backup", "clock", "concurrent",
	"config", "diff", "doctor", "fix", "found", "gone", "grants", "init", "jobs", "limits", "lost", "missing",
	"names", "nats", "newer", "open", "openapi", "push", "refused", "repair", "subscriptions", "taken", "terminal",
	"test", "token", "tokens", "types", "vars", "versions"}

// TestScripts runs the manual: each script uses the real program on a real data directory.
func TestScripts(t *testing.T) {
	worker, plain := releasedWorker(t), plainPrograms(t)
	hearHangups(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			script := ""
			if t, ok := env.T().(interface{ Name() string }); ok {
				script = path.Base(t.Name())
			}
			if testing.Short() && script != quickScript {
				env.T().Skip("left out by -short, which runs only the script with nearly all commands")
			}
			if plain != "" && slices.Contains(plainScripts, script) {
				env.Setenv("PATH", plain+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			env.Setenv("USER", "tester")
			env.Setenv(plainWorker, worker)
			env.Setenv("PAWL_HTTP", "127.0.0.1:0")
			// The race detector would let every process linger for a second.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "start": start, "await": await, "interrupt": interrupt, "mutate": mutate, "address": address,
			"insist": insist, "follow": follow, "ended": ended, "eavesdrop": eavesdrop, "overheard": overheard,
			"receive": receive, "received": received, "alerted": alerted,
			"request": request, "secret": secret,
			"hole": hole, "swallowed": swallowed, "hangup": hangup,
		},
	})
}

// hearHangups lets the programs that the test starts be told of a hangup as a terminal tells it, also
// where these tests run under nohup: a program inherits what is ignored, and not what is handled.
func hearHangups(t *testing.T) {
	t.Helper()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) })
}

// TestScriptsUnderNohup: the script with a hangup in it passes where hangups are ignored.
func TestScriptsUnderNohup(t *testing.T) {
	long(t)
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "" HUP; exec "$0" "$@"`, os.Args[0],
		"-test.run=^TestScripts$/^hangup$", "-test.v")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestScripts/hangup") {
		t.Errorf("%v\n%s", err, out)
	}
}

// exits CODE PROGRAM ARGS… runs a program and wants this very exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		code = ended.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%s: exit code %d, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// engineProcess is a program that start has started.
type engineProcess struct {
	cmd  *exec.Cmd
	done sync.WaitGroup // readers of its output

	mu     sync.Mutex
	output strings.Builder
	grown  *sync.Cond
	ended  bool
}

func (p *engineProcess) follow(r io.Reader) {
	defer p.done.Done()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		p.mu.Lock()
		p.output.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		p.grown.Broadcast()
	}
}

// text is what was printed so far.
func (p *engineProcess) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// longest is how long a test waits for what must come; only a failing test waits so long.
const longest = 2 * time.Minute

// waitFor blocks until the output matches. It reports false when that can no longer happen.
func (p *engineProcess) waitFor(pattern *regexp.Regexp, most time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	stop := context.AfterFunc(ctx, p.grown.Broadcast)
	defer stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !pattern.MatchString(p.output.String()) {
		if p.ended || ctx.Err() != nil {
			return false
		}
		p.grown.Wait()
	}
	return true
}

var engines sync.Map // *testscript.TestScript and name → *engineProcess

type engineKey struct {
	ts   *testscript.TestScript
	name string
}

func processOf(ts *testscript.TestScript, name string) *engineProcess {
	p, ok := engines.Load(engineKey{ts, name})
	if !ok {
		ts.Fatalf("nothing called %s was started", name)
	}
	return p.(*engineProcess)
}

// start NAME ARGS… starts `pawl ARGS…` and waits until it answers.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME ARGS…")
	}
	launch(ts, args[0], `^pawl: answering on http`, args[1:])
}

// follow NAME PATTERN ARGS… starts `pawl ARGS…` and waits until what it prints matches.
func follow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: follow NAME PATTERN ARGS…")
	}
	launch(ts, args[0], args[1], args[2:])
}

func launch(ts *testscript.TestScript, name, pattern string, args []string) {
	p := &engineProcess{cmd: exec.Command("pawl", args...)}
	p.grown = sync.NewCond(&p.mu)
	p.cmd.Dir = ts.MkAbs(".")
	for _, variable := range []string{"PATH", "HOME", "TMPDIR", "USER", "PAWL_HTTP", "PAWL_TOKEN", "GORACE", plainWorker,
		"WEBHOOK_URL", "WEBHOOK_SECRET"} {
		if value := ts.Getenv(variable); value != "" {
			p.cmd.Env = append(p.cmd.Env, variable+"="+value)
		}
	}
	for _, pipe := range []func() (io.ReadCloser, error){p.cmd.StdoutPipe, p.cmd.StderrPipe} {
		r, err := pipe()
		ts.Check(err)
		p.done.Add(1)
		go p.follow(r)
	}
	ts.Check(p.cmd.Start())
	engines.Store(engineKey{ts, name}, p)
	go func() {
		p.done.Wait()
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		p.grown.Broadcast()
	}()
	ts.Defer(func() {
		// Ends what a failed script left; what has ended already does not mind.
		_ = p.cmd.Process.Kill()
	})
	if !p.waitFor(regexp.MustCompile("(?m)"+pattern), longest) {
		ts.Fatalf("pawl %s never printed %s:\n%s", strings.Join(args, " "), pattern, p.text())
	}
}

// await NAME PATTERN waits until what NAME has printed matches.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await NAME PATTERN")
	}
	p := processOf(ts, args[0])
	if !p.waitFor(regexp.MustCompile("(?m)"+args[1]), longest) {
		ts.Fatalf("%s never printed %s:\n%s", args[0], args[1], p.text())
	}
}

// interrupt NAME interrupts what was started, wants it to end well and leaves what it printed in NAME.out.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: interrupt NAME")
	}
	p := processOf(ts, args[0])
	ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
	p.done.Wait()
	if err := p.cmd.Wait(); err != nil {
		ts.Fatalf("%s: %v:\n%s", args[0], err, p.text())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(p.text()), 0o644))
}

// ended NAME CODE waits until what was started ends by itself, with this exit code, and leaves what
// it printed in NAME.out.
func ended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ended NAME CODE")
	}
	p := processOf(ts, args[0])
	p.done.Wait()
	err := p.cmd.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		ts.Fatalf("%s: %v", args[0], err)
	}
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("%s: exit code %s, want %s:\n%s", args[0], got, args[1], p.text())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(p.text()), 0o644))
}

// mutate FILE OFFSET flips a byte; a negative offset counts from the end.
func mutate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mutate FILE OFFSET")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	if at < 0 {
		at += len(data)
	}
	data[at] ^= 0xff
	ts.Check(os.WriteFile(path, data, 0o644))
}

// address NAME VARIABLE sets the variable to the host and port on which NAME answers.
func address(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: address NAME VARIABLE")
	}
	p := processOf(ts, args[0])
	p.mu.Lock()
	defer p.mu.Unlock()
	found := regexp.MustCompile(`(?m)^pawl: answering on http://(\S+)$`).FindStringSubmatch(p.output.String())
	if found == nil {
		ts.Fatalf("%s does not answer", args[0])
	}
	ts.Setenv(args[1], found[1])
}

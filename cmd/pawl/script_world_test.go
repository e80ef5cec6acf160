package main

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// blackHole is a server that takes requests and never answers.
type blackHole struct {
	mu       sync.Mutex
	requests int
	more     *sync.Cond
}

var holes sync.Map // *testscript.TestScript → *blackHole

// hole VARIABLE starts a server that takes requests and never answers, and sets the variable to its
// host and port.
func hole(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hole VARIABLE")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = listener.Close() })
	h := &blackHole{}
	h.more = sync.NewCond(&h.mu)
	holes.Store(ts, h)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go h.swallow(conn)
		}
	}()
	ts.Setenv(args[0], listener.Addr().String())
}

func (h *blackHole) swallow(conn net.Conn) {
	for r := bufio.NewReader(conn); ; {
		if _, err := http.ReadRequest(r); err != nil {
			return // the other side has given up
		}
		h.mu.Lock()
		h.requests++
		h.mu.Unlock()
		h.more.Broadcast()
	}
}

// swallowed N waits until the black hole has taken N requests, and wants no more than those.
func swallowed(ts *testscript.TestScript, neg bool, args []string) {
	found, ok := holes.Load(ts)
	if neg || len(args) != 1 || !ok {
		ts.Fatalf("usage: hole VARIABLE, then swallowed N")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	h := found.(*blackHole)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	defer context.AfterFunc(ctx, h.more.Broadcast)()
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.requests < want && ctx.Err() == nil {
		h.more.Wait()
	}
	if h.requests != want {
		ts.Fatalf("%d requests were received, want %d", h.requests, want)
	}
}

// insist NAME interrupts what was started twice and wants it to end at once, with exit code 1.
func insist(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: insist NAME")
	}
	p := processOf(ts, args[0])
	ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
	if !p.waitFor(regexp.MustCompile(`stopping; handlers under way end first`), longest) {
		ts.Fatalf("%s does not react to an interrupt:\n%s", args[0], p.text())
	}
	ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
	p.done.Wait()
	var ended *exec.ExitError
	if err := p.cmd.Wait(); !errors.As(err, &ended) || ended.ExitCode() != exit.CodeFailed {
		ts.Fatalf("%s: %v, want exit code 1:\n%s", args[0], err, p.text())
	}
}

// hangup NAME says, as often as a closing terminal does, that there is no terminal any more.
func hangup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hangup NAME")
	}
	p := processOf(ts, args[0])
	ts.Check(p.cmd.Process.Signal(syscall.SIGHUP))
	if !p.waitFor(regexp.MustCompile(`stopping; handlers under way end first`), longest) {
		ts.Fatalf("%s does not react to a hangup:\n%s", args[0], p.text())
	}
	ts.Check(p.cmd.Process.Signal(syscall.SIGHUP))
}

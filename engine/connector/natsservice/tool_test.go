package natsservice_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.uber.org/goleak"
)

// toolEnv makes the test binary a tool: a service in a process of its own.
const toolEnv = "PAWL_TEST_TOOL"

func TestMain(m *testing.M) {
	if spec := os.Getenv(toolEnv); spec != "" {
		if err := runTool(spec, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "tool:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// toolSpec says which service a tool is.
type toolSpec struct {
	URL, Name string
	Endpoints []endpointSpec
	// Sloppy names the rule that an endpoint of the ledger breaks.
	Sloppy string
}

type endpointSpec struct {
	Name    string
	Subject string `json:",omitempty"` // the whole subject; empty: in the group of the service
	Queue   string `json:",omitempty"`
	NoQueue bool   `json:",omitempty"`
	Meta    map[string]string
}

func mutation(name string, meta ...string) endpointSpec { return described(name, "mutate", meta...) }

func described(name, kind string, meta ...string) endpointSpec {
	e := endpointSpec{Name: name, Meta: map[string]string{"pawl.kind": kind}}
	for i := 0; i+1 < len(meta); i += 2 {
		e.Meta[meta[i]] = meta[i+1]
	}
	return e
}

// wish is what a request asks the tool to do, in its parameters.
type wish struct {
	Do      string `json:"do"` // ok, hold, raw, error
	Raw     string `json:"raw"`
	Size    int    `json:"size"`
	Code    string `json:"code"`
	Outcome string `json:"outcome"`
	Lower   bool   `json:"lower"` // header names in lower case
	Retry   string `json:"retry"` // Pawl-Retry-After
}

// seen is a request as the tool got it.
type seen struct {
	Op, Data string
	Header   map[string][]string
}

func runTool(text string, in io.Reader, out io.Writer) error {
	var spec toolSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	nc, err := nats.Connect(spec.URL, nats.MaxReconnects(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			fmt.Fprintln(out, "denied "+err.Error())
		}))
	if err != nil {
		return err
	}
	var mu sync.Mutex
	release := make(chan struct{})
	released := func() <-chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		return release
	}
	var print sync.Mutex
	say := func(line string) {
		print.Lock()
		defer print.Unlock()
		fmt.Fprintln(out, line)
	}
	book := newLedger(spec.Sloppy)
	handler := func(name string) micro.HandlerFunc {
		return func(r micro.Request) {
			line, _ := json.Marshal(seen{Op: name, Data: string(r.Data()), Header: r.Headers()})
			say("seen " + string(line))
			if answered := book.handle(name, r); answered {
				return
			}
			var w wish
			_ = json.Unmarshal(r.Data(), &w)
			if w.Do == "hold" { // holding one request must not hold the others
				go func(release <-chan struct{}) {
					<-release
					_ = r.Respond([]byte(`{"id":2}`))
				}(released())
				return
			}
			grant(w, r)
		}
	}
	service, err := micro.AddService(nc, micro.Config{Name: spec.Name, Version: "1.0.0"})
	if err != nil {
		return err
	}
	for _, e := range spec.Endpoints {
		group := service.AddGroup("pawl.tool." + spec.Name)
		options := []micro.EndpointOpt{micro.WithEndpointMetadata(e.Meta)}
		if e.Queue != "" {
			options = append(options, micro.WithEndpointQueueGroup(e.Queue))
		}
		if e.NoQueue {
			options = append(options, micro.WithEndpointQueueGroupDisabled())
		}
		if e.Subject != "" {
			err = service.AddEndpoint(e.Name, handler(e.Name), append(options, micro.WithEndpointSubject(e.Subject))...)
		} else {
			err = group.AddEndpoint(e.Name, handler(e.Name), options...)
		}
		if err != nil {
			return err
		}
	}
	if err := nc.Flush(); err != nil {
		return err
	}
	say("ready")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if lines.Text() == "release" {
			mu.Lock()
			close(release)
			release = make(chan struct{})
			mu.Unlock()
		}
	}
	return nil // the test has gone
}

func grant(w wish, r micro.Request) {
	switch w.Do {
	case "raw":
		_ = r.Respond([]byte(w.Raw))
	case "big":
		_ = r.RespondJSON(map[string]any{"id": 3, "text": strings.Repeat("x", w.Size)})
	case "error":
		h := micro.Headers{}
		if w.Outcome != "" {
			h["Pawl-Outcome"] = []string{w.Outcome}
		}
		if w.Retry != "" {
			h["Pawl-Retry-After"] = []string{w.Retry}
		}
		if w.Lower {
			h["nats-service-error-code"], h["nats-service-error"] = []string{w.Code}, []string{"lower"}
			_ = r.Respond([]byte(w.Raw), micro.WithHeaders(h))
			return
		}
		if w.Code == "" {
			if w.Raw == "" {
				h["Nats-Service-Error"] = []string{"no code"}
			}
			_ = r.Respond([]byte(w.Raw), micro.WithHeaders(h))
			return
		}
		_ = r.Error(w.Code, "as asked", []byte(w.Raw), micro.WithHeaders(h))
	default:
		_ = r.Respond([]byte(`{"id":1}`))
	}
}

// ledger is a tool that keeps what a connector must keep, or breaks one rule.
type ledger struct {
	mu      sync.Mutex
	sloppy  string
	total   int
	answers map[string]string // by key; empty: refused for good
}

func newLedger(sloppy string) *ledger {
	return &ledger{sloppy: sloppy, answers: make(map[string]string)}
}

func (l *ledger) handle(name string, r micro.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch name {
	case "pay":
		l.pay(r)
	case "total":
		_ = r.Respond([]byte(strconv.Itoa(l.total)))
	case "paid":
		l.paid(r)
	default:
		return false
	}
	return true
}

func (l *ledger) pay(r micro.Request) {
	key := r.Headers().Get("Idempotency-Key")
	deadline, err := time.Parse(time.RFC3339Nano, r.Headers().Get("Pawl-Deadline"))
	if l.sloppy != "deadline" && (err != nil || time.Now().After(deadline)) {
		_ = r.Error("503", "too late", nil)
		return
	}
	answer, known := l.answers[key]
	if known && l.sloppy != "key" {
		if answer == "" && l.sloppy != "reconcile" {
			_ = r.Error("409", "refused for good", nil)
			return
		}
		if answer != "" {
			if l.sloppy == "effect" {
				l.total++
			}
			_ = r.Respond([]byte(answer))
			return
		}
	}
	l.total++
	answer = fmt.Sprintf(`{"payment":%d}`, l.total)
	l.answers[key] = answer
	_ = r.Respond([]byte(answer))
}

func (l *ledger) paid(r micro.Request) {
	var q struct{ IdempotencyKey string }
	_ = json.Unmarshal(r.Data(), &q)
	answer, known := l.answers[q.IdempotencyKey]
	switch {
	case answer != "" && l.sloppy != "forgets":
		_ = r.Respond([]byte(`{"status":"applied","result":` + answer + `}`))
	default:
		if !known {
			l.answers[q.IdempotencyKey] = ""
		}
		_ = r.Respond([]byte(`{"status":"failed","message":"not in the book"}`))
	}
}

// tool is a running tool.
type tool struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	// denied is what it was not allowed to do before it was ready.
	denied []string
	once   sync.Once
}

// startTool starts a tool and waits until it serves.
func startTool(t *testing.T, spec toolSpec) *tool {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	x := &tool{t: t, cmd: exec.Command(os.Args[0]), lines: make(chan string, 10_000)}
	x.cmd.Env = append(os.Environ(), toolEnv+"="+string(text))
	x.cmd.Stderr = os.Stderr
	if x.in, err = x.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := x.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(x.lines)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			x.lines <- lines.Text()
		}
	}()
	t.Cleanup(x.kill)
	for line := x.line(); line != "ready"; line = x.line() {
		if !strings.HasPrefix(line, "denied ") {
			t.Fatalf("tool %s said %q", spec.Name, line)
		}
		x.denied = append(x.denied, line)
	}
	return x
}

// kill is a kill -9.
func (x *tool) kill() {
	x.once.Do(func() {
		_ = x.cmd.Process.Kill()
		for range x.lines { // until its output ends, before Wait closes the pipe
		}
		_ = x.cmd.Wait()
	})
}

// release lets the requests go that the tool holds.
func (x *tool) release() {
	x.t.Helper()
	if _, err := io.WriteString(x.in, "release\n"); err != nil {
		x.t.Fatal(err)
	}
}

func (x *tool) line() string {
	x.t.Helper()
	select {
	case line, ok := <-x.lines:
		if !ok {
			x.t.Fatal("the tool ended")
		}
		return line
	case <-time.After(20 * time.Second):
		x.t.Fatal("the tool says nothing")
	}
	return ""
}

// seen waits for the next request that the tool gets.
func (x *tool) seen() seen {
	x.t.Helper()
	line := x.line()
	text, ok := strings.CutPrefix(line, "seen ")
	var s seen
	if err := json.Unmarshal([]byte(text), &s); !ok || err != nil {
		x.t.Fatalf("tool said %q: %v", line, err)
	}
	return s
}

// keysUntil lists the keys of all requests up to the one with the key last, by how often they came.
func (x *tool) keysUntil(last string) map[string]int {
	x.t.Helper()
	keys := make(map[string]int)
	for {
		key := nats.Header(x.seen().Header).Get("Idempotency-Key")
		keys[key]++
		if key == last {
			return maps.Clone(keys)
		}
	}
}

// drain ends the tool and shows every request that it got.
func (x *tool) drain(each func(seen)) {
	x.t.Helper()
	x.once.Do(func() {
		_ = x.in.Close() // the tool ends when it has said everything
		for line := range x.lines {
			text, ok := strings.CutPrefix(line, "seen ")
			var s seen
			if err := json.Unmarshal([]byte(text), &s); !ok || err != nil {
				x.t.Errorf("tool said %q: %v", line, err)
			}
			each(s)
		}
		_ = x.cmd.Wait()
	})
}

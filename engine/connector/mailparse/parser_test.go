package mailparse

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// playing stands before the name of the program that this test program is to be.
const playing = "playing"

// programs are what tests have mails taken apart by. A mail's content tells most of them what to do.
var programs = map[string]func() error{
	"parser": func() error { return Serve(os.Stdin, os.Stdout) },
	"odd":    odd,
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == playing {
		if err := programs[os.Args[2]](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func program(name string) func() *exec.Cmd {
	return func() *exec.Cmd { return exec.Command(os.Args[0], playing, name) }
}

// odd behaves as mails say in their subject, and says so in the subject that it answers.
func odd() error {
	debug.SetMaxStack(maxStack)
	if err := writeJSON(os.Stdout,
		ready{confine.Report{Level: confine.None, Missing: []string{"all of it"}}}); err != nil {
		return err
	}
	s := server{in: bufio.NewReader(os.Stdin), out: os.Stdout, watch: newWatch()}
	for n := 1; ; n++ {
		var q question
		if err := readJSON(s.in, maxQuestion, &q); err != nil {
			return nil
		}
		data, err := s.mail()
		if err != nil {
			return err
		}
		head := NewHead("")
		head.Subject = fmt.Sprintf("%s as mail %d", data, n)
		if !strings.HasPrefix(string(data), "early") {
			if err := writeJSON(os.Stdout, head); err != nil {
				return err
			}
		}
		if err := behave(s, q, string(data), n); err != nil {
			return err
		}
		if err := writeJSON(os.Stdout, Mail{Head: head}); err != nil {
			return err
		}
	}
}

var eaten [][]byte

func behave(s server, q question, how string, n int) error {
	switch _, what, _ := strings.Cut(how, " "); what {
	case "hang":
		select {}
	case "be killed":
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {}
	case "be killed unless it takes little":
		if !q.Frugal {
			return behave(s, q, "now be killed", n)
		}
	case "eat memory and be killed for it":
		if !q.Frugal {
			return behave(s, q, "now be killed", n)
		}
		return behave(s, q, "now eat memory", n)
	case "die unless it is the first":
		if n > 1 {
			os.Exit(3)
		}
	case "die":
		os.Exit(3)
	case "panic":
		panic("at the disco")
	case "eat memory":
		s.watch.allow(q.memory(), cpuLimit(MaxSize))
		for {
			eaten = append(eaten, make([]byte, 1<<20))
		}
	case "compute":
		s.watch.allow(q.memory(), 0)
		for endless { // until the watch ends it
			deep++
		}
	case "recurse":
		deep = recurse(0)
	case "babble":
		_, err := os.Stdout.WriteString(again("x", 1<<20))
		return err
	case "lie":
		return writeFrame(os.Stdout, []byte(`{"subject": 1}`))
	}
	return nil
}

var (
	endless = true
	deep    int
)

func recurse(n int) int {
	if !endless {
		return n
	}
	return recurse(n+1) + 1
}

var again = strings.Repeat

func newParser(t *testing.T, program func() *exec.Cmd) *Parser {
	t.Helper()
	p, err := New(Config{Command: program, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func source(text string) Source { return Source{strings.NewReader(text), int64(len(text))} }

// What ends the process over a mail is a reason of that mail, with its headers if they were heard; the next
// mail does not notice.
func TestADeathIsAReason(t *testing.T) {
	for how, want := range map[string]struct{ reason, subject string }{
		"now die":        {"the process that takes it apart ended: exit status 3", "now die as mail 1"},
		"early die":      {"the process that takes it apart ended: exit status 3", ""},
		"now panic":      {"the process that takes it apart ended: exit status 2", "now panic as mail 1"},
		"now eat memory": {"it takes more than 512 MiB of memory to take it apart", "now eat memory as mail 1"},
		"now compute":    {"it takes more than 3s of processor time to take it apart", "now compute as mail 1"},
		"now recurse":    {"something in it is nested too deeply", "now recurse as mail 1"},
		"now babble":     {"answered something else", "now babble as mail 1"},
		"early babble":   {"answered something else", ""},
		"now lie":        {"answered something else", "now lie as mail 1"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := newParser(t, program("odd"))
			m, err := p.Parse(t.Context(), source(how), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !m.Malformed || !strings.Contains(m.Error, want.reason) || m.Subject != want.subject ||
				m.Size != int64(len(how)) {
				t.Errorf("%+v, want %+v", m.Head, want)
			}
			if m, err := p.Parse(t.Context(), source("well"), nil); err != nil || m.Malformed ||
				m.Subject != "well as mail 1" {
				t.Errorf("the next mail: %+v, %v", m.Head, err)
			}
		})
	}
}

// A process that has taken other mails apart before may have died of those: a mail is judged by a process
// that has seen no other.
func TestAMailIsJudgedAlone(t *testing.T) {
	p := newParser(t, program("odd"))
	for range 2 {
		m, err := p.Parse(t.Context(), source("now die unless it is the first"), nil)
		if err != nil || m.Malformed || m.Subject != "now die unless it is the first as mail 1" {
			t.Errorf("%+v, %v", m.Head, err)
		}
	}
}

// A process that something else has killed says nothing about the mail.
func TestKilledFromOutside(t *testing.T) {
	p := newParser(t, program("odd"))
	if m, err := p.Parse(t.Context(), source("now be killed"), nil); err == nil || !strings.Contains(err.Error(),
		"signal: killed") {
		t.Errorf("%+v, %v", m, err)
	}
}

// A process that is asked to end, as all processes of a service may be, lives on until its engine ends it, and no mail
// is blamed for the signal.
func TestAskedToEnd(t *testing.T) {
	p := newParser(t, program("parser"))
	for range 2 {
		m, err := p.Parse(t.Context(), source("Subject: hi\r\n\r\ntext\r\n"), nil)
		if err != nil || m.Malformed || m.Subject != "hi" {
			t.Fatalf("%+v, %v", m.Head, err)
		}
		for range 2 {
			if err := p.idle[0].Cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(p.idle) != 1 || p.idle[0].mails != 2 {
		t.Errorf("%d processes, the first with %d mails", len(p.idle), p.idle[0].mails)
	}
}

// Where the system ends a process that takes much memory, a mail that takes much has a reason, and one that takes
// little is taken apart: neither keeps the mails behind it from being listed.
func TestKilledForItsMemory(t *testing.T) {
	p := newParser(t, program("odd"))
	m, err := p.Parse(t.Context(), source("now eat memory and be killed for it"), nil)
	if err != nil || !m.Malformed || !strings.Contains(m.Error,
		"more than 128 MiB of memory to take it apart, and the system has ended the process that took more") {
		t.Errorf("%+v, %v", m.Head, err)
	}
	const little = "now be killed unless it takes little"
	if m, err := p.Parse(t.Context(), source(little), nil); err != nil || m.Malformed || m.Subject != little+" as mail 1" {
		t.Errorf("%+v, %v", m.Head, err)
	}
}

// The end of the caller's context ends the process at once, and says nothing about the mail.
func TestTheCallerGoesAway(t *testing.T) {
	p := newParser(t, program("odd"))
	ctx, cancel := context.WithCancel(t.Context())
	content := readerFunc(func(b []byte, at int64) (int, error) {
		cancel() // while the mail is on its way to a process that would never answer
		return copy(b, "now hang"), io.EOF
	})
	if m, err := p.Parse(ctx, Source{content, 8}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := p.Parse(ctx, source("well"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if m, err := p.Parse(t.Context(), source("well"), nil); err != nil || m.Subject != "well as mail 1" {
		t.Errorf("the next mail: %+v, %v", m.Head, err)
	}
}

type readerFunc func(b []byte, at int64) (int, error)

func (f readerFunc) ReadAt(b []byte, at int64) (int, error) { return f(b, at) }

// Bytes that cannot be read say nothing about the mail, and a piece of it is never taken for it.
func TestContentThatCannotBeRead(t *testing.T) {
	p := newParser(t, program("parser"))
	broken := errors.New("input/output error")
	content := readerFunc(func(b []byte, at int64) (int, error) {
		if at == 0 {
			return copy(b, "Subject: hi\r\n\r\ntext"), nil
		}
		return 0, broken
	})
	if m, err := p.Head(t.Context(), Source{content, 1 << 20}); !errors.Is(err, broken) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestNoProcess(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("a parser without a command")
	}
	p := newParser(t, func() *exec.Cmd { return exec.Command("/no/such/program") })
	if _, err := p.Head(t.Context(), source("Subject: hi\r\n\r\n")); err == nil || !strings.Contains(err.Error(),
		"/no/such/program") {
		t.Errorf("%v", err)
	}
	p = newParser(t, func() *exec.Cmd { return exec.Command("true") })
	if _, err := p.Head(t.Context(), source("Subject: hi\r\n\r\n")); err == nil || !strings.Contains(err.Error(),
		"it ended with exit status 0") {
		t.Errorf("%v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := p.Head(t.Context(), source("x")); !errors.Is(err, errClosed) {
		t.Errorf("after it was closed: %v", err)
	}
}

// A process that is confined less than fully is named once.
func TestConfinement(t *testing.T) {
	var log strings.Builder
	p, err := New(Config{Command: program("odd"), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.Parse(t.Context(), source("now die"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Count(log.String(), "none (missing: all of it)") != 1 {
		t.Errorf("log = %s", log.String())
	}
	if runtime.GOOS != "linux" || confine.Race {
		return // the level is that of the system and of the build: what is missing is said
	}
	real, err := start(program("parser")())
	if err != nil {
		t.Fatal(err)
	}
	defer real.End()
	if real.ready.Report.Level != confine.Full {
		t.Errorf("confined %s", real.ready.Report)
	}
}

// One process takes many mails apart, whole or only their heads, and as many at once as there are places.
func TestProcessesAreUsedAgain(t *testing.T) {
	p := newParser(t, program("parser"))
	const mail = "Subject: hi\r\nX-Tag: a\r\nX-Tag: b\r\n\r\ntext\r\n"
	for range 5 {
		m, err := p.Parse(t.Context(), source(mail), []string{"x-tag"})
		if err != nil || m.Subject != "hi" || m.Text != "text\r\n" || strings.Join(m.Headers["x-tag"], " ") != "a b" ||
			m.Size != int64(len(mail)) {
			t.Errorf("%+v, %v", m, err)
		}
		head, err := p.Head(t.Context(), source(mail))
		if text, _ := json.Marshal(head); err != nil || head.Subject != "hi" || strings.Contains(string(text),
			"null,\"cc") {
			t.Errorf("%s, %v", text, err)
		}
	}
	if len(p.idle) != 1 || p.idle[0].mails != 10 {
		t.Errorf("%d processes, the first with %d mails", len(p.idle), p.idle[0].mails)
	}
	p.idle[0].mails = maxMails - 1
	if _, err := p.Head(t.Context(), source(mail)); err != nil || len(p.idle) != 0 {
		t.Errorf("%d processes after the last mail of one, %v", len(p.idle), err)
	}
}

// The headers of a mail are read without what follows them, also where that would make the mail a malformed one.
func TestHeadersAlone(t *testing.T) {
	p := newParser(t, program("parser"))
	for name, mail := range map[string]string{
		"cut off":   "Subject: Hi\r\nFrom: a@example.com\r\nX-Order: 7\r\nContent-Type: multipart/mixed; boundary=b\r\n",
		"malformed": "Subject: Hi\r\nFrom: a@example.com\r\nX-Order: 7\r\nContent-Type: multipart/mixed\r\n\r\n--\r\n",
	} {
		m, err := p.Headers(t.Context(), source(mail), []string{"X-Order", "X-None"})
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject != "Hi" || m.FromAddress != "a@example.com" || m.Malformed || m.Size != int64(len(mail)) ||
			len(m.Headers) != 1 || m.Headers["x-order"][0] != "7" || m.Attachments == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if m, err := p.Headers(t.Context(), source("no mail"), nil); err != nil || !m.Malformed {
		t.Errorf("no mail: %+v, %v", m, err)
	}
}

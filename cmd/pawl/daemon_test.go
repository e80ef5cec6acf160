package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/example"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
)

// daemon is the real program on a data directory, and its HTTP interface.
type daemon struct {
	*engineProcess
	t   *testing.T
	url string
}

// command is the program with a test's environment.
func command(t *testing.T, dir, program string, args ...string) *exec.Cmd {
	cmd := programCommand(t, program, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0", "NO_COLOR=1", "PAWL_HTTP=127.0.0.1:0", "USER=tester",
		"XDG_STATE_HOME="+filepath.Join(dir, "state")) // the tester's own state may hold an engine
	return cmd
}

// runProgram runs the program to its end and returns what it printed and its exit code.
func runProgram(t *testing.T, dir, program string, args ...string) (string, int) {
	t.Helper()
	out, err := command(t, dir, program, args...).CombinedOutput()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return string(out), 0
	case errors.As(err, &ended):
		return string(out), ended.ExitCode()
	}
	t.Fatalf("run %s %v: %v", program, args, err)
	return "", 0
}

// mustRun is runProgram that wants an exit code.
func mustRun(t *testing.T, dir string, code int, program string, args ...string) string {
	t.Helper()
	out, got := runProgram(t, dir, program, args...)
	if got != code {
		t.Fatalf("%s %s: exit code %d, want %d\n%s", program, strings.Join(args, " "), got, code, out)
	}
	return out
}

func startDaemon(t *testing.T, dir, program string, args ...string) *daemon {
	t.Helper()
	return answering(t, spawn(t, command(t, dir, program, args...)))
}

// spawn starts a program and follows what it prints.
func spawn(t *testing.T, cmd *exec.Cmd) *engineProcess {
	t.Helper()
	p := &engineProcess{cmd: cmd}
	p.grown = sync.NewCond(&p.mu)
	for _, pipe := range []func() (io.ReadCloser, error){p.cmd.StdoutPipe, p.cmd.StderrPipe} {
		r, err := pipe()
		if err != nil {
			t.Fatal(err)
		}
		p.done.Add(1)
		go p.follow(r)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.done.Wait()
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		p.grown.Broadcast()
	}()
	return p
}

// answering waits until the program answers.
func answering(t *testing.T, p *engineProcess) *daemon {
	t.Helper()
	line := regexp.MustCompile(`(?m)^pawl: answering on (http\S+)$`)
	if !p.waitFor(line, longest) {
		t.Fatalf("%v does not answer:\n%s", p.cmd.Args, p.text())
	}
	return &daemon{p, t, line.FindStringSubmatch(p.text())[1]}
}

// await waits until what was printed matches.
func (d *daemon) await(pattern string) {
	d.t.Helper()
	if !d.waitFor(regexp.MustCompile("(?m)"+pattern), longest) {
		d.t.Fatalf("never printed %s:\n%s", pattern, d.text())
	}
}

// stop interrupts the program and wants it to end well.
func (d *daemon) stop() {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	if code := d.exit(); code != 0 {
		d.t.Fatalf("exit code %d:\n%s", code, d.text())
	}
}

// exit waits for the program's own end.
func (d *daemon) exit() int {
	d.t.Helper()
	d.done.Wait()
	var ended *exec.ExitError
	if err := d.cmd.Wait(); err != nil && !errors.As(err, &ended) {
		d.t.Fatal(err)
	}
	return d.cmd.ProcessState.ExitCode()
}

// atRest waits until nothing of the workflows is active or due. It asks when it comes, and again at each transition.
func (d *daemon) atRest(workflows ...string) {
	d.t.Helper()
	res, err := d.send(http.MethodGet, "/v1/log?follow=true&tail=1", nil)
	if err != nil || res.StatusCode != http.StatusOK {
		d.t.Fatalf("follow the log: %v, %+v", err, res)
	}
	defer func() { _ = res.Body.Close() }()
	defer time.AfterFunc(longest, func() { _ = res.Body.Close() }).Stop()
	news := bufio.NewReader(res.Body)
	for _, name := range workflows {
		var why struct {
			Moving  bool
			Message string
		}
		for d.get("/v1/workflows/"+name+"/why", &why); why.Moving; d.get("/v1/workflows/"+name+"/why", &why) {
			// A blank line ends each transition, and each sign of life of the stream.
			for line := "-"; line != "\n"; {
				if line, err = news.ReadString('\n'); err != nil {
					d.t.Fatalf("%s is still moving (%s), and the log ends: %v\n%s", name, why.Message, err, d.text())
				}
			}
		}
	}
}

// request sends a JSON body, or none, and returns status and body.
func (d *daemon) request(method, path string, body any) (int, []byte, error) {
	res, err := d.send(method, path, body)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// send sends a JSON body, or none. The caller closes the answer's body.
func (d *daemon) send(method, path string, body any) (*http.Response, error) {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, text)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	token, err := d.token()
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultClient.Do(req)
}

// token is the one that lies in the program's data directory, which its first line names.
func (d *daemon) token() (string, error) {
	data := regexp.MustCompile(`(?m)^pawl: data in (.+)$`).FindStringSubmatch(d.text())
	if data == nil {
		return "", errors.New("the program has not named its data directory")
	}
	path := data[1]
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.cmd.Dir, path)
	}
	return datadir.ReadToken(filepath.Join(path, datadir.TokenFile))
}

// call is a request that must be answered with the status.
func (d *daemon) call(status int, method, path string, body any) []byte {
	d.t.Helper()
	got, answer, err := d.request(method, path, body)
	if err != nil {
		d.t.Fatalf("%s %s: %v\n%s", method, path, err, d.text())
	}
	if got != status {
		d.t.Fatalf("%s %s: %d, want %d: %s", method, path, got, status, answer)
	}
	return answer
}

// get decodes the answer to a GET.
func (d *daemon) get(path string, into any) {
	d.t.Helper()
	if err := json.Unmarshal(d.call(http.StatusOK, http.MethodGet, path, nil), into); err != nil {
		d.t.Fatalf("GET %s: %v", path, err)
	}
}

// rest waits, on a manual clock, until nothing is active or due.
func (d *daemon) rest() { d.advance("0s") }

func (d *daemon) advance(by string) {
	d.t.Helper()
	d.call(http.StatusOK, http.MethodPost, "/v1/clock/advance", map[string]string{"by": by})
}

// place makes a directory with files, named by paths with slashes.
func place(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, content)
	}
	return dir
}

// placeMailToSheet writes the bundled workflow into a folder of the test, with one mail and a feed.
func placeMailToSheet(t *testing.T) string {
	t.Helper()
	script, err := example.Files.ReadFile("mail-to-sheet.ts")
	if err != nil {
		t.Fatal(err)
	}
	return place(t, map[string]string{
		"mail-to-sheet.ts": string(script), "sheets/.keep": "", "inbox/cur/.keep": "", "inbox/tmp/.keep": "",
		"inbox/new/1700000001.M.host": "From: a@example.org\r\nSubject: Report\r\n\r\nText\r\n",
		"pawl.yaml": "connectors:\n  maildir: {root: ./inbox}\n  csv: {root: ./sheets}\n" +
			"feed: true\nfeed-bytes: 16MiB\n",
	})
}

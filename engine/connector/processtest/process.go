package processtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Command makes a command that runs in the folder, as the server does. All in the folder belongs to its user then.
func (f *Folder) Command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	cmd.Dir = f.Path
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	f.unprivileged(t, cmd)
	return cmd
}

// Serve starts a server, and waits until it writes a line with the text ready to its standard error. It ends with the
// test, by the signal of that name. The error of a server that ends before it is ready has what it wrote.
func (f *Folder) Serve(t testing.TB, ready, signal, name string, args ...string) error {
	t.Helper()
	// The shell ends the server when its input ends: that is when the test's process does, however that comes. It keeps
	// no hold of the server's standard error, which ends with the server.
	server := f.Command(t, "sh", append([]string{"-c", `exec 3>&2 2>/dev/null; "$@" 2>&3 3>&- & server=$!; exec 3>&-; ` +
		`read -r end; kill -` + signal + ` $server; wait $server`, "sh", name}, args...)...)
	stdin, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	begun, ended := make(chan struct{}), make(chan struct{})
	var log strings.Builder
	go func() {
		defer close(ended)
		announced := false
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			fmt.Fprintln(&log, lines.Text())
			if !announced && strings.Contains(lines.Text(), ready) {
				announced = true
				close(begun)
			}
		}
		_, _ = io.Copy(io.Discard, stderr) // a line that is too long for the scanner
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		<-ended
		_ = server.Wait() // it was told to end, which is no success to it
		if t.Failed() {
			t.Logf("the server wrote:\n%s", log.String())
		}
	})
	select {
	case <-begun:
		return nil
	case <-ended:
		return fmt.Errorf("the server did not start:\n%s", log.String())
	}
}

package confine_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

func TestLevels(t *testing.T) {
	t.Parallel()
	levels := []confine.Level{confine.None, confine.Partial, confine.Full}
	for i, l := range levels {
		for j, other := range levels {
			if l.AtLeast(other) != (i >= j) {
				t.Errorf("%s at least %s: %t", l, other, l.AtLeast(other))
			}
		}
		if parsed, err := confine.ParseLevel(string(l)); err != nil || parsed != l {
			t.Errorf("%s: %s, %v", l, parsed, err)
		}
	}
	if _, err := confine.ParseLevel("best"); err == nil || !strings.Contains(err.Error(), "full, partial or none") {
		t.Errorf("got %v", err)
	}
	if s := (confine.Report{Level: confine.Partial,
		Missing: []string{"a: b"}}).String(); s != "partial (missing: a: b)" {
		t.Error(s)
	}
}

type findings struct {
	Report      confine.Report
	Descriptors []string
	Attempts    map[string]string
	Works       map[string]string
}

// TestNothingGetsOut runs a program that confines itself and tries every way out, as this user, and,
// if this is root, as the user nobody; with and without the C library.
func TestNothingGetsOut(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux confines")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // something to connect to
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dir := t.TempDir()
	for d := dir; d != filepath.Dir(d) && strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	builds := []string{"0"}
	if _, err := exec.LookPath("gcc"); err == nil {
		builds = append(builds, "1")
	}
	for _, cgo := range builds {
		program := filepath.Join(dir, "probe"+cgo)
		build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./testdata/probe")
		build.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
		users := []int{os.Getuid()}
		if os.Getuid() == 0 {
			users = append(users, 65534)
		}
		for _, user := range users {
			t.Run(fmt.Sprintf("cgo=%s/uid=%d", cgo, user), func(t *testing.T) {
				cmd := exec.Command(program, listener.Addr().String())
				cmd.Env = []string{"GOTRACEBACK=none", "GODEBUG=" + confine.Debug}
				inherit(t)
				cmd.Dir = "/"
				asUser(cmd, user)
				cmd.Stderr = os.Stderr
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("probe: %v", err)
				}
				var f findings
				if err := json.Unmarshal(out, &f); err != nil {
					t.Fatalf("probe said %q", out)
				}
				check(t, f)
			})
		}
	}
}

func check(t *testing.T, f findings) {
	if f.Report.Level != confine.Full {
		// The levels of an older kernel are tested by what they report; this machine has all of it.
		t.Errorf("confined %s", f.Report)
	}
	if len(f.Descriptors) > 0 {
		t.Errorf("still open: %v", f.Descriptors)
	}
	if len(f.Attempts) < 45 {
		t.Errorf("only %d attempts", len(f.Attempts))
	}
	var escaped []string
	for name, err := range f.Attempts {
		if err == "" {
			escaped = append(escaped, name)
		}
	}
	slices.Sort(escaped)
	if len(escaped) > 0 {
		t.Errorf("got out: %s", strings.Join(escaped, ", "))
	}
	for name, err := range f.Works {
		if err != "" {
			t.Errorf("%s: %s", name, err)
		}
	}
}

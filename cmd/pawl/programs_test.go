package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// mains are the programs that these tests start, by name. Each of them is the test binary itself.
var mains = map[string]func(){
	"pawl":           underTest().main,
	"pawl-killed":    killedMain,
	"pawl-cramped":   crampedMain,
	"pawl-storeless": storelessMain,
	"pawl-tools":     toolsMain,

	"scripted-maintainer": maintainerMain,
}

// everything says, in the environment, that nothing is left out to save time.
const everything = "PAWL_TEST_ALL"

// built are what the tests start besides themselves, in a folder that goes with the last test.
var built struct {
	sync.Mutex
	folder string
}

// folderOfBuilt is that folder.
func folderOfBuilt() (string, error) {
	built.Lock()
	defer built.Unlock()
	if built.folder != "" {
		return built.folder, nil
	}
	folder, err := os.MkdirTemp("", "pawl-built")
	if err != nil {
		return "", fmt.Errorf("make a folder for the programs: %w", err)
	}
	built.folder = folder
	return folder, nil
}

// releasedWorker is a worker as a release has it: without the C library and without the race detector, whose memory
// and slowness would decide which limit a script meets first. It is nothing else, so that it starts in a sixth of the
// program's time: all tests run their scripts in it but those about how the program starts its own.
func releasedWorker(t *testing.T) string {
	t.Helper()
	path, err := buildWorker()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildWorker = sync.OnceValues(func() (string, error) {
	folder, err := folderOfBuilt()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "worker")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../../sandbox/worker/testdata/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build a worker: %w\n%s", err, out)
	}
	return path, nil
})

// plainPrograms is the folder of the programs without the race detector. It is empty if a test is to start those that
// stand in its PATH, since the tests have none. The programs of TestScripts have it but for plainScripts, and so have
// engines at every kind of work: the other tests start hundreds of engines, for what one process leaves to the next,
// each of which costs four times as much with it.
func plainPrograms(t *testing.T) string {
	t.Helper()
	if !raced {
		return ""
	}
	folder, err := buildPlain()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// buildPlain builds this test binary without the race detector and without the C library, as a release is built, and
// gives it the names of the programs.
var buildPlain = sync.OnceValues(func() (string, error) {
	folder, err := folderOfBuilt()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "plain.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	for name := range mains {
		if err := os.Link(binary, filepath.Join(folder, name)); err != nil {
			return "", fmt.Errorf("name a program: %w", err)
		}
	}
	return folder, nil
})

// long leaves a test out of a quick look: it builds the program, starts it again and again, or waits in earnest.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds or starts the program many times, or waits for real: left out by -short")
	}
}

// suite runs the tests and then removes the programs that were built for them.
type suite struct{ *testing.M }

func (s suite) Run() int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		// Most of the time a test waits for the disk, or for the end of a pause: others compute meanwhile.
		if err := parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
			fmt.Fprintln(os.Stderr, "set how many tests run at once:", err)
			return 1
		}
	}
	code := s.M.Run()
	if built.folder != "" {
		if err := os.RemoveAll(built.folder); err != nil {
			fmt.Fprintln(os.Stderr, "remove the programs of the tests:", err)
		}
	}
	return code
}

// programCommand is a program as a test starts it. What the program starts by name is of the same kind.
func programCommand(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	environment := append(os.Environ(), plainWorker+"="+releasedWorker(t))
	if folder := plainPrograms(t); folder != "" {
		if _, ours := mains[name]; ours {
			name = filepath.Join(folder, name)
			environment = append(environment, "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
		}
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = environment
	return cmd
}

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// target is a system that a release is built for.
type target struct{ system, machine string }

// targets are all systems of a release.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// shells are what completion files are made for, with the name under which each is installed.
var shells = []struct{ shell, file string }{
	{"bash", "completion/pawl.bash"}, {"zsh", "completion/_pawl"},
	{"fish", "completion/pawl.fish"}, {"powershell", "completion/pawl.ps1"},
}

func main() {
	out := flag.String("out", "dist",
		"folder for the archives and their checksums; what it holds of an earlier release is replaced")
	only := flag.String("only", "", "build for this system alone, such as linux/amd64")
	flag.Parse()
	if err := release(*out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release builds every archive into the folder out, and the file SHA256SUMS beside them.
func release(out, only string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("create the folder of the release: %w", err)
	}
	work, err := os.MkdirTemp("", "pawl-release-")
	if err != nil {
		return fmt.Errorf("create a folder to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()

	// The program for this machine is asked for its version, and for the completion files of all archives.
	here := filepath.Join(work, program(runtime.GOOS))
	if err := build(target{runtime.GOOS, runtime.GOARCH}, here); err != nil {
		return err
	}
	version, err := versionOf(here)
	if err != nil {
		return err
	}
	shared, err := sharedFiles(here)
	if err != nil {
		return err
	}
	var archives []string
	for _, t := range targets {
		if only != "" && only != t.system+"/"+t.machine {
			continue
		}
		binary := filepath.Join(work, t.system+"-"+t.machine)
		if err := build(t, binary); err != nil {
			return err
		}
		content, err := os.ReadFile(binary)
		if err != nil {
			return fmt.Errorf("read the program for %s/%s: %w", t.system, t.machine, err)
		}
		name := fmt.Sprintf("pawl_%s_%s_%s", strings.TrimPrefix(version, "v"), t.system, t.machine)
		files := append([]file{{program(t.system), content, true}}, shared...)
		archive, err := pack(out, name, t.system == "windows", files)
		if err != nil {
			return err
		}
		fmt.Println(archive)
		archives = append(archives, archive)
	}
	if len(archives) == 0 {
		return fmt.Errorf("build for %q: a release knows linux, darwin and windows, each on amd64 and arm64", only)
	}
	return writeChecksums(filepath.Join(out, "SHA256SUMS"), archives)
}

// program is the name of the program on a system.
func program(system string) string {
	if system == "windows" {
		return "pawl.exe"
	}
	return "pawl"
}

// build compiles pawl for a target: static, without symbols and machine paths, with the version of the commit.
func build(t target, to string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", to, "./cmd/pawl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.system, "GOARCH="+t.machine)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build pawl for %s/%s (in the folder of go.mod): %w", t.system, t.machine, err)
	}
	return nil
}

// versionOf asks a program for its version, and refuses a version that is not that of a commit.
func versionOf(path string) (string, error) {
	text, err := exec.Command(path, "version", "--json").Output()
	if err != nil {
		return "", fmt.Errorf("ask the built program for its version: %w", err)
	}
	var answer struct{ Version string }
	if err := json.Unmarshal(text, &answer); err != nil {
		return "", fmt.Errorf("read the built program's version: %w", err)
	}
	if v := answer.Version; strings.Contains(v, "dirty") || strings.HasSuffix(v, "+changes") {
		return "", fmt.Errorf("release %s: commit or remove what has changed, so that the version names what is built", v)
	}
	if answer.Version == "" || answer.Version == "unknown" || answer.Version == "devel" {
		return "", errors.New("the built program does not know its commit: build in a clone of the repository")
	}
	return answer.Version, nil
}

// sharedFiles are the files that every archive holds beside the program.
func sharedFiles(here string) ([]file, error) {
	var files []file
	for _, path := range []string{"LICENSE", "README.md", "cmd/pawl/packaging/pawl.service"} {
		content, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			return nil, fmt.Errorf("read %s (in the folder of go.mod): %w", path, err)
		}
		files = append(files, file{path[strings.LastIndexByte(path, '/')+1:], content, false})
	}
	for _, s := range shells {
		content, err := exec.Command(here, "completion", s.shell).Output()
		if err != nil {
			return nil, fmt.Errorf("ask the built program for the completion of %s: %w", s.shell, err)
		}
		files = append(files, file{s.file, content, false})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

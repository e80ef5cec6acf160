package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// packagesFolder names, in the environment, the folder that holds a folder for each lock of npm packages here.
const packagesFolder = "PAWL_TEST_PACKAGES"

// packages is the folder in which the npm packages of that name are installed, as their lock says.
func packages(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv(packagesFolder)
	if _, err := exec.LookPath("node"); err != nil || folder == "" {
		t.Skipf("no Node.js, or %s names no folder with packages of npm; .ci/run has both", packagesFolder)
	}
	return filepath.Join(folder, name, "node_modules")
}

// installed is where the program is, that is no part of this module; the test is left out without it.
func installed(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("no %s in the PATH; .ci/run installs it", program)
	}
	return path
}

//go:build linux

package main

import (
	"net"
	"path/filepath"
	"testing"
)

// A service manager hears that the engine is ready only once it answers, and that it ends.
func TestSupervisorIsTold(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	heard := func() string {
		t.Helper()
		buffer := make([]byte, 1024)
		n, err := manager.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		return string(buffer[:n])
	}
	cmd := command(t, dir, "pawl", "serve", "--data", filepath.Join(dir, "data"))
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+path)
	engine := answering(t, spawn(t, cmd))
	if got := heard(); got != "READY=1" {
		t.Errorf("heard %q, want READY=1", got)
	}
	engine.stop()
	if got := heard(); got != "STOPPING=1" {
		t.Errorf("heard %q, want STOPPING=1", got)
	}
}

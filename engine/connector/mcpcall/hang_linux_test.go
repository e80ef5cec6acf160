package mcpcall

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/engine/connector"
)

func init() {
	// freeze starts a program of its own, notes it, and stops: the server heeds nothing any more.
	freeze = func(calls string) (*mcp.CallToolResult, error) {
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			return nil, err
		}
		if err := os.WriteFile(calls+".child", fmt.Append(nil, child.Process.Pid), 0o600); err != nil {
			return nil, err
		}
		return nil, syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// A server that hangs is ended at the deadline of a call, with all that it has started, and the next call has another.
func TestHungServerIsEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.pingTimeout = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if out := b.Perform(ctx, b.call("freeze")); out.Status != connector.Uncertain {
		t.Fatalf("%+v %+v", out, out.Failure)
	}
	text, err := os.ReadFile(b.calls + ".child")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.After(20 * time.Second); ; {
		out := func() connector.Outcome {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return b.Perform(ctx, b.call("put"))
		}()
		if out.Status == connector.Applied {
			break
		}
		select {
		case <-deadline:
			t.Fatalf("no other server was started: %+v %+v", out, out.Failure)
		default:
		}
	}
	stat, err := os.ReadFile(filepath.Join("/proc", string(text), "stat"))
	if err == nil && !bytes.Contains(stat, []byte("(sleep) Z")) {
		t.Errorf("what the server had started goes on: %s", stat)
	}
}

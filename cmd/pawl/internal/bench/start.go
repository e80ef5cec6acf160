package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/schedule"
)

// startResult is the result of one start of an engine on an existing log.
type startResult struct {
	Transitions uint64        `json:"transitions"`
	Ready       time.Duration `json:"ready"` // from the process's first line of code to the engine's readiness
	Memory      int64         `json:"memory"`
}

// StartCommand is the command of the process that starts an engine and measures the start.
type StartCommand struct {
	Data string `arg:"" type:"path"`
}

// Run opens the data directory and starts an engine on it, prints how long that took, and stops it.
func (c *StartCommand) Run(ctx context.Context, screen term.Screen, with storage.Parts) error {
	began := time.Now()
	s := config.Settings{Data: c.Data, HTTP: "127.0.0.1:0", Policies: schedule.Default()}
	logger := slog.New(slog.NewTextHandler(screen.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	go node.TendHeap(ctx) // as up and serve do
	d, err := storage.Open(ctx, s, with, logger)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	n, err := node.Compose(ctx, d, nil, "bench")
	if err != nil {
		return err
	}
	stop, err := startNode(ctx, n)
	if err != nil {
		return err
	}
	result := startResult{Ready: time.Since(began), Memory: proportionalMemory(0)}
	if result.Transitions, err = d.Log.Last(ctx, 0); err != nil {
		return exit.Failed("", err)
	}
	if err := json.NewEncoder(screen.Out).Encode(result); err != nil {
		return exit.Failed("", err)
	}
	return stop()
}

// measureStarts starts an engine on the data directory twice, each time in a process of its own:
// with the local store, and without it, which replays the whole log.
func measureStarts(ctx context.Context, screen term.Screen, data string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	for _, withStore := range []bool{true, false} {
		if !withStore {
			if err := os.RemoveAll(filepath.Join(data, "store")); err != nil {
				return fmt.Errorf("delete the local store: %w", err)
			}
		}
		cmd := exec.CommandContext(ctx, self, "bench-start", data)
		cmd.Stderr = screen.Err
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("start on %s: %w", data, err)
		}
		var r startResult
		if err := json.Unmarshal(out, &r); err != nil {
			return fmt.Errorf("the start says %q", out)
		}
		line, err := json.Marshal(map[string]any{
			"transitions": r.Transitions, "with_store": withStore,
			"start_ms": r.Ready.Milliseconds(), "memory_mib": r.Memory >> 20,
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(screen.Out, string(line))
	}
	return nil
}

package storage

import (
	"log/slog"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// NewWorkers starts the processes that scripts run in: this program again, as `pawl worker`.
// At most size of them compute at once.
func NewWorkers(s config.Settings, with Parts, size int, logger *slog.Logger) (*worker.Pool, error) {
	p := s.Policies.Script
	workers, err := worker.NewPool(worker.Config{
		Command: with.Worker, Size: size, Memory: int64(p.Memory), Require: s.Sandbox, Logger: logger,
		Limits: sandbox.Limits{CPU: p.CPU, Wall: p.Wall, Source: int(p.Source)}, // of reading a definition
	})
	if err != nil {
		return nil, exit.Failed("scripts run only in processes of their own; --require-sandbox=none accepts what this "+
			"machine can confine", err)
	}
	return workers, nil
}

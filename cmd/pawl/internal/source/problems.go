package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/sandbox"
)

// Refused prints the problems of a refused script in place of the problem document's summary.
func Refused(ctx context.Context, screen term.Screen, with storage.Parts, s Script, err error, asJSON bool) error {
	var problem *rpc.Problem
	if !errors.As(err, &problem) {
		return err
	}
	if problem.Code == "recordings.none" {
		return err // nothing is wrong with the script
	}
	if len(problem.Problems) == 0 {
		if problem.Status == http.StatusConflict && !asJSON {
			Print(screen, s, []sandbox.Problem{{Severity: sandbox.SeverityError, Code: problem.Code, Message: problem.Detail,
				Fix: problem.Hint}})
			return exit.Failed("", fmt.Errorf("%s was refused; nothing was changed", term.Path(s.Path)))
		}
		return err
	}
	if asJSON {
		document, err := json.Marshal(problem)
		if err != nil {
			return fmt.Errorf("print the problem: %w", err)
		}
		if err := screen.JSON(document); err != nil {
			return err
		}
		return exit.Silent(exit.CodeFailed)
	}
	problems := problem.Problems
	if definition, _, err := Describe(ctx, with, s); err == nil {
		problems = builtin.AdviseConfigured(problems, definition.Uses)
	}
	Print(screen, s, problems)
	return exit.Failed("correct what is listed above and deploy again; nothing was changed",
		fmt.Errorf("%s was refused", term.Path(s.Path)))
}

// Describe reads the definition of a script, with the problems that it shows by itself, in a worker process.
func Describe(ctx context.Context, with storage.Parts, s Script) (sandbox.Definition, []sandbox.Problem, error) {
	scripts, err := storage.NewWorkers(config.Settings{Policies: schedule.Default()}, with, 1,
		slog.New(slog.DiscardHandler))
	if err != nil {
		return sandbox.Definition{}, nil, err
	}
	definition, problems,
		err := scripts.Describe(ctx, sandbox.Source{Filename: filepath.Base(s.Path), Code: string(s.Text)})
	return definition, problems, errors.Join(err, scripts.Close())
}

// Print prints problems as a compiler does.
func Print(screen term.Screen, s Script, problems []sandbox.Problem) {
	for _, p := range problems {
		fmt.Fprintln(screen.Err, term.Problem(term.Path(s.Path), p))
	}
}

// PrintFreed says how many held events a new version of the script has let go on.
func PrintFreed(screen term.Screen, events int) {
	switch events {
	case 0:
	case 1:
		fmt.Fprintln(screen.Err, "1 event that was held goes on")
	default:
		fmt.Fprintf(screen.Err, "%d events that were held go on\n", events)
	}
}

// PrintHeld says how many events of a workflow are still held after a deploy until a person resumes it.
func PrintHeld(screen term.Screen, workflow string, events int) {
	switch events {
	case 0:
	case 1:
		fmt.Fprintf(screen.Err, "1 event is still held until you resume the workflow: pawl resume %s\n", workflow)
	default:
		fmt.Fprintf(screen.Err, "%d events are still held until you resume the workflow: pawl resume %s\n", events, workflow)
	}
}

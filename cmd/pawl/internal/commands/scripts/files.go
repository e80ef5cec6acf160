package scripts

import (
	"context"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// each does the work for every file, also after it has failed for one: each failure is printed, and the command ends
// with the exit code of the first.
func each(ctx context.Context, screen term.Screen, files []string, work func(file string) error) error {
	if len(files) == 1 {
		return work(files[0])
	}
	first := exit.CodeDone
	for _, file := range files {
		err := work(file)
		if err == nil {
			continue
		}
		code := exit.Complain(ctx, screen.Err, err)
		if first == exit.CodeDone {
			first = code
		}
		if code == exit.CodeUnreachable || ctx.Err() != nil {
			break // the others would fail in the same way
		}
	}
	if first == exit.CodeDone {
		return nil
	}
	return exit.Silent(first)
}

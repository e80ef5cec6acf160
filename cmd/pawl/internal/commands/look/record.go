package look

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// recordRuns is `pawl runs record`.
type recordRuns struct {
	client.Flags
	Name string   `arg:"" name:"workflow" help:"The workflow, whose runs are recorded (recordings in pawl.yaml)."`
	Runs []string `arg:"" name:"run" help:"The runs, of consumers."`
	Out  string   `short:"o" placeholder:"FILE" type:"path" help:"A new file, such as orders.late.test.yaml."`
}

// Run writes the test file so that only its owner can read it: it holds the inputs of the runs.
func (c *recordRuns) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	return client.Answer(connected, "recordRuns", map[string]any{"workflow": c.Name, "runs": c.Runs},
		func(recorded struct {
			Runs int
			YAML string
		}) error {
			if c.Out == "" {
				_, err := fmt.Fprint(screen.Out, recorded.YAML)
				return err
			}
			if err := writeNew(c.Out, recorded.YAML); err != nil {
				return err
			}
			_, err := fmt.Fprintf(screen.Out, "wrote %s into %s\n", term.Plural(recorded.Runs, "run"), term.Path(c.Out))
			return err
		})
}

// writeNew writes a file that is not there yet.
func writeNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return exit.Misconfigured("name another file, or remove it", "%s is there already", term.Path(path))
	}
	if err != nil {
		return exit.Failed("", fmt.Errorf("write the test file: %w", err))
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return exit.Failed("", errors.Join(fmt.Errorf("write the test file: %w", err), os.Remove(path)))
	}
	return nil
}

package scripts

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/starter"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Init is `pawl init`: write the first files of a folder of workflows.
type Init struct {
	Template string `default:"orders" placeholder:"NAME" help:"What the workflow does: orders (events pushed in become rows), mail (mails become rows) or chat (webhooks become messages)."`
	JSON     bool   `name:"json" help:"Print JSON."`
	Dir      string `arg:"" optional:"" name:"dir" default:"." type:"path" help:"The folder, which is made if it is missing; else this one."`
}

// Run writes the files that do not exist yet, and prints what to try.
func (c *Init) Run(screen term.Screen) error {
	template, ok := starter.Templates[c.Template]
	if !ok {
		return exit.Misconfigured("choose one of "+strings.Join(starter.Names(), ", "), "there is no template %q",
			term.OneLine(c.Template, 80))
	}
	declarations, err := builtin.Declare(nil, nil)
	if err != nil {
		return exit.Failed("", err)
	}
	written, kept, err := starter.Write(c.Dir, c.Template, declarations)
	if err != nil {
		return exit.Failed("", err)
	}
	if c.JSON {
		document, err := json.Marshal(map[string][]string{"written": append([]string{}, written...),
			"kept": append([]string{}, kept...)})
		if err != nil {
			return fmt.Errorf("print what was written: %w", err)
		}
		return screen.JSON(document)
	}
	for _, path := range written {
		fmt.Fprintf(screen.Out, "%s\n", term.Path(path))
	}
	for _, path := range kept {
		fmt.Fprintf(screen.Err, "%s is there already, and stays as it is\n", term.Path(path))
	}
	try := "Try"
	if dir := term.Path(c.Dir); dir != "." {
		try = "Try, in " + dir
	}
	fmt.Fprintf(screen.Err, "\n%s: %s. %s:\n", template.Script, template.About, try)
	for _, command := range append([]string{"pawl validate " + template.Script, "pawl test " + template.Script},
		template.Next...) {
		fmt.Fprintf(screen.Err, "  %s\n", command)
	}
	return nil
}

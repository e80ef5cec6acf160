package look

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/aymanbagabas/go-udiff"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Versions is `pawl versions`.
type Versions struct {
	List     versionsList    `cmd:"" help:"List the versions of a workflow's script."`
	Show     showVersion     `cmd:"" help:"Print the script of a version."`
	Diff     diffVersions    `cmd:"" help:"Print how the scripts of two versions differ."`
	Rollback rollbackVersion `cmd:"" help:"Deploy the script of a former version again, as the next version."`
}

type versionsList struct {
	listFlags
	Name string `arg:"" name:"workflow" help:"The workflow."`
}

type showVersion struct {
	client.Flags
	Name    string `arg:"" name:"workflow" help:"The workflow."`
	Version string `arg:"" help:"The version, MAJOR.MINOR."`
}

type diffVersions struct {
	client.Flags
	Name string `arg:"" name:"workflow" help:"The workflow."`
	From string `arg:"" help:"A version, MAJOR.MINOR."`
	To   string `arg:"" optional:"" help:"Another one; else the version that runs."`
}

type rollbackVersion struct {
	client.Flags
	Name    string `arg:"" name:"workflow" help:"The workflow."`
	Version string `arg:"" help:"The former version, MAJOR.MINOR."`
	Expect  string `placeholder:"MAJOR.MINOR" help:"Refuse unless this version runs now."`
}

// Run lists the versions.
func (c *versionsList) Run(engine *client.Finder, screen term.Screen) error {
	return listWith(engine, screen, c.listFlags, "Versions", ofWorkflow{Workflow: c.Name}, nil, []term.Column{
		{Title: "version", Field: "version"},
		{Title: "deployed", Field: "deployedAt", Show: term.Moment, Uncut: true},
		{Title: "by", Field: "deployedBy.name"}, {Title: "file", Field: "filename", Spare: 1},
		{Title: "what", Field: "what"}, {Title: "note", Field: "note", Whole: true},
	}, func(_ *client.Connection, p term.Page) {
		for _, version := range p.Items {
			what := "deploy"
			if version["repair"] == true {
				what = "repair"
			}
			if version["current"] == true {
				what += ", runs now"
			}
			version["what"] = what
		}
	})
}

// script is a version with its text.
type script struct {
	Version, Filename, Source string
}

// fetch asks for the script of a version, the current one where it is empty.
func fetch(connected *client.Connection, workflow, version string) (s script, raw json.RawMessage, err error) {
	params := map[string]any{"workflow": workflow}
	if version != "" {
		params["version"] = version
	}
	if err := connected.Call("getSource", params, &raw); err != nil {
		return s, nil, err
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, nil, fmt.Errorf("read the engine's answer: %w", err)
	}
	return s, raw, nil
}

// Run prints the script.
func (c *showVersion) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	s, raw, err := fetch(connected, c.Name, c.Version)
	if err != nil {
		return err
	}
	if connected.JSON {
		return screen.JSON(raw)
	}
	_, err = io.WriteString(screen.Out, s.Source)
	return err
}

// Run prints how two scripts differ, as a patch; nothing for the same text.
func (c *diffVersions) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	from, _, err := fetch(connected, c.Name, c.From)
	if err != nil {
		return err
	}
	to, _, err := fetch(connected, c.Name, c.To)
	if err != nil {
		return err
	}
	patch := udiff.Unified(from.Version+"/"+from.Filename, to.Version+"/"+to.Filename, from.Source, to.Source)
	if connected.JSON {
		document, err := json.Marshal(map[string]string{"from": from.Version, "to": to.Version, "patch": patch})
		if err != nil {
			return exit.Failed("", fmt.Errorf("print the difference: %w", err))
		}
		return screen.JSON(document)
	}
	if patch == "" {
		fmt.Fprintf(screen.Err, "%s and %s have the same text\n", from.Version, to.Version)
	}
	_, err = io.WriteString(screen.Out, patch)
	return err
}

// Run deploys the former script again.
func (c *rollbackVersion) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	params := map[string]any{"workflow": c.Name, "version": c.Version}
	if c.Expect != "" {
		params["expectedVersion"] = c.Expect
	}
	return client.Answer(connected, "rollbackWorkflow", params, func(done struct {
		Version string
		Changed bool
		Asks    []string

		FreedEvents, HeldForResume int
	}) error {
		if !done.Changed {
			fmt.Fprintf(screen.Out, "%s %s runs the script of %s already; nothing was changed\n", c.Name, done.Version,
				c.Version)
			return nil
		}
		fmt.Fprintf(screen.Out, "%s %s has the script of %s\n", c.Name, done.Version, c.Version)
		source.PrintFreed(screen, done.FreedEvents)
		source.PrintHeld(screen, c.Name, done.HeldForResume)
		for _, capability := range done.Asks {
			fmt.Fprintf(screen.Err, "%s asks before each %s; to allow it: pawl grants %s %s=allow\n", c.Name, capability, c.Name,
				capability)
		}
		fmt.Fprintf(screen.Err,
			"  a file that pawl up follows still holds another script: pawl workflows source %s --out FILE\n", c.Name)
		return nil
	})
}

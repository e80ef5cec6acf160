package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/example"
	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/cmd/pawl/internal/typings"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
)

// Up is an engine with the given workflows.
type Up struct {
	config.Engine
	UntilIdle *bool             `setting:"" help:"End when nothing is active, due or backing off; exit code 3 if a workflow needs a person."`
	Grant     map[string]string `placeholder:"CAPABILITY=allow|ask|deny" help:"Replace all grants of the workflow of the one FILE, e.g. --grant csv.appendRow=ask. Without it a new workflow may do all that its file uses, and is asked about what a later version adds."`
	Strict    bool              `help:"Take warnings for errors: a file with one is not deployed."`
	Script    []string          `arg:"" optional:"" name:"file" type:"path" help:"Workflow scripts, each deployed if its bytes have changed, at the start and whenever they do while this runs; without one, the bundled example runs in ./pawl-example."`
}

// Run deploys the files that have changed, and those that change later, and runs everything until it is interrupted.
func (c *Up) Run(ctx context.Context, screen term.Screen, conf config.Reader, with storage.Parts) error {
	conf.Home = config.DefaultData
	s, err := conf.Settings(c.Engine, c.UntilIdle)
	if err != nil {
		return err
	}
	scripts := c.Script
	var bundled *example.Example
	if len(scripts) == 0 {
		if bundled, err = useExample(&s); err != nil {
			return err
		}
		scripts = []string{bundled.Script()}
	}
	grants, err := c.grants(len(scripts))
	if err != nil {
		return err
	}
	sources, err := source.ReadAll(scripts)
	if err != nil {
		return err
	}
	var idle func()
	if bundled != nil {
		idle = func() { introduce(screen.Out, *bundled) }
	}
	refused := &refusals{}
	err = node.Operate(ctx, screen, s, with, func(ctx context.Context, in *node.Node) (node.SideTask, error) {
		if err := in.CheckGrants(grants); err != nil {
			return nil, exit.Misconfigured("correct it; nothing was deployed", "--grant: %v", err)
		}
		known, err := loadDeployments(s.Data)
		if err != nil {
			return nil, err
		}
		d := deployer{
			screen: screen, actor: config.ActorNamed(conf.As()), in: in, known: known, refused: refused, grants: grants,
			strict: c.Strict,
		}
		if err := d.deployAll(ctx, sources); err != nil {
			return nil, err
		}
		d.sayOthers(sources)
		in.Announce()
		sayConsole(screen, in, conf.As())
		in.Refused = refused.count
		d.grants = nil // a later deploy of the file keeps what a person grants from now on
		return d.watching(sources), nil
	}, idle)
	var quiet exit.Silent
	if s.UntilIdle && refused.count() > 0 && (err == nil || errors.As(err, &quiet) && quiet == exit.CodeNeedsPerson) {
		return exit.Failed("correct what is listed above and start again; nothing of the refused was changed",
			fmt.Errorf("%s refused", term.Plural(refused.count(), "workflow")))
	}
	return err
}

// sayConsole prints a link to the console.
func sayConsole(screen term.Screen, in *node.Node, name string) {
	link, err := in.API.LoginLink(name)
	if err != nil {
		return // without tokens the printed address is enough
	}
	fmt.Fprintf(screen.Out, "pawl: in a browser, once and within a minute: %s (a new link: pawl open)\n", link)
}

// grants reads --grant; nil is none.
func (c *Up) grants(files int) (map[string]eventlog.Grant, error) {
	if len(c.Grant) == 0 {
		return nil, nil
	}
	if files != 1 {
		return nil, exit.Misconfigured("name one FILE, or change the grants of each: pawl grants WORKFLOW CAPABILITY=GRANT",
			"--grant is for the workflow of one file, and there are %d", files)
	}
	grants := make(map[string]eventlog.Grant, len(c.Grant))
	for capability, grant := range c.Grant {
		grants[capability] = eventlog.Grant(grant)
	}
	if err := deploy.ValidateGrants(grants, &eventlog.Definition{}); err != nil {
		return nil, exit.Misconfigured("write e.g. --grant csv.appendRow=ask", "--grant: %v", err)
	}
	return grants, nil
}

// useExample writes the bundled example and configures its connectors for it. Connectors that are configured already
// belong to real mail and sheets, so the example refuses to use them. It also refuses to use a log without its own
// folder: that is most likely the log of other workflows.
func useExample(s *config.Settings) (*example.Example, error) {
	if c := s.Connectors; c.Maildir != nil || c.CSV != nil {
		return nil, exit.Misconfigured("name the workflows to run: pawl up FILE…; or run the example in an empty folder",
			"without a FILE, up runs the bundled example in its own folders, but the maildir or csv connector is "+
				"configured for others")
	}
	dir, err := filepath.Abs(example.Dir)
	if err != nil {
		return nil, exit.Failed("", err)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && datadir.HoldsLog(s.Data) {
		return nil, exit.Misconfigured("run what is deployed there: pawl serve; or name the workflows to run: "+
			"pawl up FILE…; or run the example in an empty folder",
			"without a FILE, up runs the bundled example, but there is a log in %s already, and no %s", s.Data, example.Dir)
	}
	connectors, err := builtin.Typed(nil)
	if err != nil {
		return nil, exit.Failed("", err)
	}
	e, err := example.Write(dir, map[string]string{typings.File: typings.Declare(connectors),
		typings.Project: typings.Settings})
	if err != nil {
		return nil, exit.Failed("", err)
	}
	s.Connectors.Maildir, s.Connectors.CSV = &config.Root{Root: e.Inbox()}, &config.Root{Root: e.Sheets()}
	return &e, nil
}

// introduce prints where to look and what to try.
func introduce(out io.Writer, e example.Example) {
	fmt.Fprintf(out, `
The example reads the mail in %s and fills %s.
Its script: %s. Put a mail into the inbox and see its row appear.
For many events at once see %s.
With `+"`pawl up`"+` running, try in another terminal:

  pawl events list             what came in, and what became of it
  pawl mutations list          every change that was made outside
  pawl why mail-to-sheet       what it is doing or waiting for

`, term.Path(e.Inbox()), term.Path(e.Sheet()), term.Path(e.Script()),
		term.Path(e.Concurrent()))
}

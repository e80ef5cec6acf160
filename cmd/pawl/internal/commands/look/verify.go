package look

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Verify checks the log: it asks the engine that runs on the log, else it reads the log itself.
type Verify struct {
	client.Flags
	AcceptLoss bool   `help:"With the engine stopped: accept that what is missing is lost, and hold every workflow that it may concern."`
	Report     string `placeholder:"FILE" help:"With --accept-loss: list the mutation calls that are given up in this file; else in one in the data directory."`
	NamesKnown bool   `help:"With --accept-loss: say that you know each workflow that may be lost with its name; new names are held no longer."`
}

// Help says what verify writes when the engine is stopped.
func (Verify) Help() string {
	return "If the engine is stopped, verify starts the embedded server to read the log. If the engine was killed, " +
		"damaged records are first marked as erased, and copies of their blocks are kept below DATA/damaged. The mark " +
		"of what was acknowledged and the local store are not changed."
}

// Run asks a running engine. With the engine stopped it reads the log in the data directory, which
// no other process can then use.
func (c *Verify) Run(ctx context.Context, engine *client.Finder, screen term.Screen, conf config.Reader,
	with storage.Parts) error {
	connected, err := engine.Find(c.Flags)
	if err != nil {
		return err
	}
	found, hint := replay.Verification{}, storage.AcceptHint
	if c.NamesKnown && !c.AcceptLoss {
		return exit.Misconfigured("pawl verify --accept-loss --names-known", "--names-known goes with --accept-loss")
	}
	if c.AcceptLoss {
		if connected.Stranger == nil {
			if err := connected.Do(ctx, "listWorkflows", nil, nil); !errors.Is(err, rpc.ErrUnreachable) {
				return exit.Failed("stop it first, and copy its data aside; pawl verify says whether anything is missing",
					fmt.Errorf("an engine answers at %s", connected.Address))
			}
		}
		s, err := connected.StoppedData(conf)
		if err != nil {
			return err
		}
		result, err := storage.AcceptLoss(ctx, s, with, term.Logger(screen), storage.Acceptance{
			Actor: config.ActorNamed(connected.Actor), Report: c.Report, NamesKnown: c.NamesKnown,
		})
		if err != nil {
			return err
		}
		return c.printAccepted(screen, result)
	}
	if connected.Stranger == nil {
		err = connected.Do(ctx, "verifyLog", nil, &found)
	}
	switch {
	case connected.Stranger != nil, errors.Is(err, rpc.ErrUnreachable) && !c.Named():
		s, err := connected.StoppedData(conf)
		if err != nil {
			return err
		}
		if found, hint, err = storage.VerifyStopped(ctx, s, with, term.Logger(screen)); err != nil {
			return err
		}
	case err != nil:
		return connected.Explain(err)
	}
	return printVerification(screen, found, hint, c.JSON)
}

func (c *Verify) printAccepted(screen term.Screen, r storage.Accepted) error {
	if c.JSON {
		document, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("print what was accepted: %w", err)
		}
		return errors.Join(screen.JSON(document), c.incomplete(screen, r))
	}
	for _, line := range r.Lost {
		fmt.Fprintf(screen.Out, "accepted as lost: %s\n", line)
	}
	if r.TokensRevoked {
		fmt.Fprintln(screen.Out, storage.TokensRevoked)
	}
	for _, name := range r.Held {
		if aside, ok := r.SetAside[name]; ok {
			fmt.Fprintf(screen.Out,
				"%s is held: %s. Start the engine, look with pawl why %s and at the other side, then end it for good: "+
					"pawl archive %s; or go on from before that: pawl resume %s\n", name, aside, name, name, name)
			continue
		}
		fmt.Fprintf(screen.Out,
			"%s is held: its newest transitions may be among what is lost. Start the engine, look with pawl why %s and at the "+
				"other side, then: pawl resume %s\n", name, name, name)
	}
	for _, line := range r.Ended() {
		fmt.Fprintln(screen.Out, line)
	}
	if r.Foreign > 0 && !slices.Contains(r.Broken, "") {
		fmt.Fprintf(screen.Out, "%s of no workflow set aside; nothing is held for that\n",
			term.Plural(r.Foreign, "foreign message"))
	}
	for _, name := range r.Broken {
		if name == "" {
			fmt.Fprintf(screen.Out,
				"%s of no workflow still stand in the log, and no engine starts on it: restore the log from a copy\n",
				term.Plural(r.Foreign, "foreign message"))
			continue
		}
		if name == eventlog.Installation {
			fmt.Fprintf(screen.Out,
				"named tokens open nothing any more: %s. Programs of this machine use the engine's own, in its %s.\n",
				r.SetAside[name], datadir.TokenFile)
			continue
		}
		fmt.Fprintf(screen.Out, "%s stays out of service: %s. To go on, deploy its script under another name.\n", name,
			r.SetAside[name])
	}
	if r.GivenUp > 0 {
		fmt.Fprintf(screen.Out,
			"%s given up: the records of them count no more. They may have been done, and are not done again by themselves. "+
				"Each stands in %s and in: pawl mutations list --status given_up\n",
			term.Plural(r.GivenUp, "mutation call"), term.Path(r.Report))
	}
	for _, line := range r.Earlier() {
		fmt.Fprintln(screen.Out, line)
	}
	switch {
	case r.NamesKnown:
		fmt.Fprintln(screen.Out, "each name is taken as known: what the log does not know is a new workflow from now on")
	case !r.Changed():
		fmt.Fprintln(screen.Out, "nothing is missing, nothing was changed")
	}
	if r.NamesLost {
		fmt.Fprintln(screen.Out, storage.NamesLost)
	}
	return c.incomplete(screen, r)
}

func printVerification(screen term.Screen, v replay.Verification, hint string, asJSON bool) error {
	if asJSON {
		document, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("print what was found: %w", err)
		}
		if err := screen.JSON(document); err != nil {
			return err
		}
	} else {
		damaged := false
		for _, problem := range v.Problems {
			damaged = damaged || replay.OfLog(problem)
			fmt.Fprintln(screen.Out, problem)
		}
		read := term.Plural(v.Workflows, "workflow") + ", " + term.Plural(v.Transitions, "transition")
		if !v.OK && v.Workflows+v.Transitions == 0 {
			read = "the log could not be read"
		}
		fmt.Fprintf(screen.Out, "%s: %s\n", read,
			map[bool]string{true: "ok", false: term.Plural(len(v.Problems), "problem")}[v.OK])
		if damaged {
			fmt.Fprintln(screen.Err, "  "+hint)
		}
		for _, name := range v.NotFolded {
			fmt.Fprintf(screen.Err, "  %s was read and is whole, and was not compared with the local store: that takes too "+
				"much memory beside a running engine. To compare it, stop the engine: pawl verify\n", name)
		}
	}
	if !v.OK {
		return exit.Silent(exit.CodeFailed)
	}
	return nil
}

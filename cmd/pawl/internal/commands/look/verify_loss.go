package look

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
)

// incomplete says that a part of what is damaged could not be set aside: the log has no space to remember it; or that
// the names are not taken as known, since a loss was accepted just now.
func (c *Verify) incomplete(screen term.Screen, r storage.Accepted) error {
	if len(r.Broken) == 0 && !(c.NamesKnown && r.NamesLost) {
		return nil
	}
	if c.NamesKnown && r.NamesLost {
		fmt.Fprintln(screen.Err, "pawl: a loss was accepted just now, so unknown names are still held; "+
			"look at what is lost first, then repeat this command")
	}
	if len(r.Broken) > 0 {
		fmt.Fprintln(screen.Err, "pawl: the log has no space to remember all that is to be set aside; repeating this "+
			"command does not change that. What stays out of service is named above, with the way to go on.")
	}
	return exit.Silent(exit.CodeFailed)
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

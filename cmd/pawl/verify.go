package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// verifyCmd checks the log: through the engine that runs on it, else by itself.
type verifyCmd struct {
	clientFlags
	AcceptLoss bool   `help:"With the engine stopped: accept that what is missing is lost, and hold every workflow that it may concern."`
	Report     string `placeholder:"FILE" help:"With --accept-loss: list the mutation calls that are given up in this file; else in one in the data directory."`
}

// Run asks a running engine. With the engine stopped it reads the log in the data directory, which
// nobody else can then use.
func (c *verifyCmd) Run(ctx context.Context, engine *finder, screen term.Screen, conf reader, with parts) error {
	connected, err := engine.find(c.clientFlags)
	if err != nil {
		return err
	}
	found, hint := replay.Verification{}, acceptHint
	if c.AcceptLoss {
		if connected.stranger == nil {
			if err := connected.Do(ctx, "listWorkflows", nil, nil); !errors.Is(err, rpc.ErrUnreachable) {
				return exit.Failed("stop it first; an engine that runs has found its log whole", fmt.Errorf("an engine answers at %s", connected.address))
			}
		}
		result, err := acceptLoss(ctx, screen, conf, with, connected, c.Report)
		if err != nil {
			return err
		}
		return printAccepted(screen, result, c.JSON)
	}
	if connected.stranger == nil {
		err = connected.Do(ctx, "verifyLog", nil, &found)
	}
	switch {
	case connected.stranger != nil, errors.Is(err, rpc.ErrUnreachable) && !c.named():
		if found, hint, err = verifyStopped(ctx, screen, conf, with, connected); err != nil {
			return err
		}
	case err != nil:
		return connected.explain(err)
	}
	return printVerification(screen, found, hint, c.JSON)
}

// acceptHint leads out of a damaged log.
const acceptHint = "to go on without what is missing, or cannot be followed, once the engine is stopped and its data copied aside: pawl verify --accept-loss"

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
		fmt.Fprintf(screen.Out, "%s, %s: %s\n", term.Plural(v.Workflows, "workflow"), term.Plural(v.Transitions, "transition"),
			map[bool]string{true: "ok", false: term.Plural(len(v.Problems), "problem")}[v.OK])
		if damaged {
			fmt.Fprintln(screen.Err, "  "+hint)
		}
	}
	if !v.OK {
		return exit.Silent(exit.CodeFailed)
	}
	return nil
}

// verifyStopped checks the log of an engine that is stopped. The hint leads out of what is found.
func verifyStopped(ctx context.Context, screen term.Screen, conf reader, with parts, connected *connection) (found replay.Verification, hint string, err error) {
	s, err := stoppedData(screen, conf, connected)
	if err != nil {
		return found, "", err
	}
	in := &installation{settings: s, with: with, logger: newLogger(screen), stopped: true}
	if err := in.open(ctx); err != nil {
		hint = acceptHint
		if errors.Is(err, eventlog.ErrGone) {
			hint = goneHint(s.Data)
		}
		if err = in.end(err); errors.Is(err, eventlog.ErrDamaged) {
			// What an engine refuses to start on is the answer here.
			return replay.Verification{Problems: []string{err.Error()}}, hint, nil
		}
		return found, "", err
	}
	found, err = replay.Verify(ctx, in.log, &readmodel.Reader{Store: in.store})
	return found, acceptHint, in.end(err)
}

// stoppedData finds the data directory of an engine that does not answer.
func stoppedData(screen term.Screen, conf reader, connected *connection) (settings, error) {
	file, err := conf.readConfig()
	if err != nil {
		return settings{}, err
	}
	file.Clock, file.ClockStart = "", "" // time stands still in it, and a flag may have chosen the clock
	s, err := conf.merge(file, engineFlags{}, nil)
	if err != nil {
		return s, err
	}
	s.NATSListen = "" // nobody has anything to ask of an engine that does not run
	if !isInstallation(s.Data) {
		return s, &exit.Failure{Code: exit.CodeUnreachable,
			What: fmt.Sprintf("no engine answers at %s, and %s holds no log", connected.address, shown(s.Data)), Hint: "name the data directory: --data DIR"}
	}
	fmt.Fprintf(screen.Err, "%s: reading the log in %s\n", connected.alone(), shown(s.Data))
	return s, nil
}

// isInstallation reports whether there is a log, or what says that there was one.
func isInstallation(data string) bool {
	for _, name := range []string{"jetstream", markFile} {
		if _, err := os.Stat(filepath.Join(data, name)); err == nil {
			return true
		}
	}
	return false
}

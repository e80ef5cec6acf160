package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/projections/store"
)

// accepted is what accepting a loss came to.
type accepted struct {
	// Lost has a line for everything that is missing.
	Lost []string `json:"lost"`
	// Held workflows may lack their newest transitions; of those in SetAside it is known which count no
	// more. Broken ones stay out of service.
	Held     []eventlog.WorkflowName          `json:"held"`
	SetAside map[eventlog.WorkflowName]string `json:"setAside"`
	Broken   []eventlog.WorkflowName          `json:"broken"`
	// Skipped counts, by workflow, the events that may have been handled: only a redrive that says so brings them
	// back. Mutations of those in Asks need approval.
	Skipped map[eventlog.WorkflowName]int `json:"skipped,omitempty"`
	Asks    []eventlog.WorkflowName       `json:"asks,omitempty"`
	// Foreign messages of no workflow were set aside.
	Foreign int `json:"foreign"`
	// GivenUp are the mutation calls whose records are given up; Report is the file that lists them, empty
	// when there are none.
	GivenUp int    `json:"givenUp"`
	Report  string `json:"report,omitempty"`
	// TokensRevoked says that no named token opens anything any more.
	TokensRevoked bool `json:"tokensRevoked"`
}

// tokensRevoked says what a loss has done to named tokens.
const tokensRevoked = "every named token is revoked, since a revocation may be among what is lost; make new ones: pawl tokens create NAME --role ROLE"

// lossFile is there while a loss is being accepted. An engine that started in the middle of that
// would run workflows that must be held.
func (in *installation) lossFile() string { return filepath.Join(in.settings.Data, "loss.accepting") }

// acceptLoss makes a damaged log usable again, with the engine stopped: what is missing is written
// down as accepted, and every workflow whose past is not proven to be whole is held.
func acceptLoss(ctx context.Context, screen term.Screen, conf reader, with parts, connected *connection, report string) (result accepted, err error) {
	s, err := stoppedData(screen, conf, connected)
	if err != nil {
		return result, err
	}
	in := &installation{settings: s, with: with, logger: newLogger(screen), stopped: true}
	defer func() { err = in.end(err) }()
	if err := in.openBroker(ctx); err != nil {
		return result, err
	}
	before, err := os.ReadFile(in.lossFile())
	interrupted := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return result, exit.Failed("", fmt.Errorf("look for an interrupted acceptance: %w", err))
	}
	if err := writeFile(in.lossFile(), before); err != nil {
		return result, exit.Failed("", fmt.Errorf("begin to accept the loss: %w", err))
	}
	lost, err := jslog.AcceptLoss(ctx, in.nc, in.logConfig())
	if err != nil {
		return result, explainLog(s.Data, err)
	}
	if len(before) > 0 {
		lost.Lines = append(strings.Split(string(before), "\n"), lost.Lines...)
	}
	note := func() error { return writeFile(in.lossFile(), []byte(strings.Join(lost.Lines, "\n"))) }
	if err := note(); err != nil {
		return result, exit.Failed("", fmt.Errorf("write down what is lost: %w", err))
	}
	if err := in.openLog(ctx); err != nil {
		return result, err
	}
	ahead, err := engine.FindAhead(ctx, in.log, in.store)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return result, exit.Failed("", err)
	}
	for _, one := range ahead {
		lost.Lines, lost.End = append(lost.Lines, one.String()), true
	}
	if err := note(); err != nil {
		return result, exit.Failed("", fmt.Errorf("write down what is lost: %w", err))
	}
	if err := in.startEpochs(ctx, ahead); err != nil {
		return result, err
	}
	result = accepted{
		Lost: append([]string{}, lost.Lines...), Held: []eventlog.WorkflowName{},
		SetAside: map[eventlog.WorkflowName]string{}, Broken: []eventlog.WorkflowName{},
	}
	err = in.recordLoss(ctx, &result, engine.Loss{
		Actor: actorNamed(connected.Actor), Cause: eventlog.Cause{Kind: "api", ID: "acceptLoss"},
		// After an interruption the repeated command may not find any more what was missing.
		End:   interrupted || lost.End,
		Store: in.store, Report: func(calls []engine.GivenUp) (err error) {
			result.GivenUp = len(calls)
			result.Report, err = in.reportGivenUp(calls, report)
			return err
		},
	})
	if err != nil {
		return result, err
	}
	if len(lost.Lines) > 0 || interrupted || len(result.SetAside) > 0 || result.Foreign > 0 {
		// The log's identity is another one now: what the store knows of it is worthless.
		if err := in.store.Reset(); err != nil {
			return result, exit.Failed("delete "+filepath.Join(s.Data, "store")+"; it is rebuilt from the log", fmt.Errorf("empty the local store: %w", err))
		}
	}
	if err := os.Remove(in.lossFile()); err != nil {
		return result, exit.Failed("remove it yourself", fmt.Errorf("end the acceptance: %w", err))
	}
	return result, nil
}

// startEpochs makes what the local store knows of these partitions worthless, and every other note of
// their positions: sequences after a lost end are used again.
func (in *installation) startEpochs(ctx context.Context, ahead []engine.Ahead) error {
	for _, one := range ahead {
		if _, err := in.log.SetAside(ctx, one.Partition, nil); err != nil {
			return exit.Failed("", fmt.Errorf("accept the loss: %w", err))
		}
	}
	return nil
}

func (in *installation) recordLoss(ctx context.Context, result *accepted, loss engine.Loss) error {
	clock, err := in.clock(ctx)
	if err != nil {
		return exit.Failed("", err)
	}
	loss.At, loss.Detail = eventlog.At(clock.Now()), term.OneLine(strings.Join(result.Lost, "; "), 2000)
	pasts, err := engine.RecordLoss(ctx, in.log, loss)
	if err != nil {
		return exit.Failed("nothing runs before this is done: pawl verify --accept-loss again", err)
	}
	for _, past := range pasts {
		if past.Workflow == eventlog.Installation && !past.Broken {
			result.TokensRevoked = true
			continue
		}
		if past.Workflow == "" {
			result.Foreign += past.SetAside.Transitions
			if past.Broken {
				result.Broken = append(result.Broken, "")
			}
			continue
		}
		if past.Skipped > 0 {
			if result.Skipped == nil {
				result.Skipped = map[eventlog.WorkflowName]int{}
			}
			result.Skipped[past.Workflow] = past.Skipped
		}
		if past.Asks {
			result.Asks = append(result.Asks, past.Workflow)
		}
		if past.SetAside != nil {
			result.SetAside[past.Workflow] = past.SetAside.String()
		}
		if past.Broken {
			result.Broken = append(result.Broken, past.Workflow)
		} else {
			result.Held = append(result.Held, past.Workflow)
		}
	}
	return nil
}

// incomplete says that a part of what is damaged could not be set aside: the log has no room to remember it.
func (r *accepted) incomplete(screen term.Screen) error {
	if len(r.Broken) == 0 {
		return nil
	}
	fmt.Fprintf(screen.Err, "pawl: the log has no room to remember all that is to be set aside. Everything else is done; repeating this command changes nothing. %s\n",
		"What stays out of service is named above, with the way to go on.")
	return exit.Silent(exit.CodeFailed)
}

// ended says of which workflows events were ended that may not be done yet, and which calls need a person now.
func (r *accepted) ended() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Skipped)) {
		lines = append(lines, fmt.Sprintf("%s: %s skipped, since it is not known whether they were handled. They are among: pawl jobs list --workflow %s --state cancelled; "+
			"those that were not done come back with: pawl redrive %s TOPIC MESSAGE-ID --including-unknown", name, term.Plural(r.Skipped[name], "event"), name, name))
	}
	for _, name := range r.Asks {
		lines = append(lines, fmt.Sprintf("%s: mutations ask for approval (grant `ask`). The grants: pawl grants %s", name, name))
	}
	return lines
}

func printAccepted(screen term.Screen, r accepted, asJSON bool) error {
	if asJSON {
		document, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("print what was accepted: %w", err)
		}
		return errors.Join(screen.JSON(document), r.incomplete(screen))
	}
	for _, line := range r.Lost {
		fmt.Fprintf(screen.Out, "accepted as lost: %s\n", line)
	}
	if r.TokensRevoked {
		fmt.Fprintln(screen.Out, tokensRevoked)
	}
	for _, name := range r.Held {
		if aside, ok := r.SetAside[name]; ok {
			fmt.Fprintf(screen.Out, "%s is held: %s. Look at the other side, then end it for good: pawl archive %s; or go on from before that: pawl resume %s\n", name, aside, name, name)
			continue
		}
		fmt.Fprintf(screen.Out, "%s is held: its newest transitions may be among what is lost. Look at the other side, then: pawl resume %s\n", name, name)
	}
	for _, line := range r.ended() {
		fmt.Fprintln(screen.Out, line)
	}
	if r.Foreign > 0 && !slices.Contains(r.Broken, "") {
		fmt.Fprintf(screen.Out, "%s of no workflow set aside; nothing is held for that\n", term.Plural(r.Foreign, "foreign message"))
	}
	for _, name := range r.Broken {
		if name == "" {
			fmt.Fprintf(screen.Out, "%s of no workflow still stand in the log, and no engine starts on it: restore the log from a copy\n", term.Plural(r.Foreign, "foreign message"))
			continue
		}
		if name == eventlog.Installation {
			fmt.Fprintf(screen.Out, "named tokens open nothing any more: %s. Programs of this machine use the engine's own, in its %s.\n", r.SetAside[name], tokenFile)
			continue
		}
		fmt.Fprintf(screen.Out, "%s stays out of service: %s. To go on, deploy its script under another name.\n", name, r.SetAside[name])
	}
	if r.GivenUp > 0 {
		fmt.Fprintf(screen.Out, "%s given up: the records of them count no more. They may have been done, and are not done again by themselves. Each stands in %s and in: pawl mutations list --status given_up\n",
			term.Plural(r.GivenUp, "mutation call"), shown(r.Report))
	}
	if len(r.Lost) == 0 && len(r.SetAside) == 0 && r.Foreign == 0 {
		fmt.Fprintln(screen.Out, "nothing is missing, nothing was changed")
	}
	return r.incomplete(screen)
}

package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/durable"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/projections/store"
)

// Acceptance says how a person accepts a loss.
type Acceptance struct {
	Actor eventlog.Actor
	// Report is the file that lists the calls that are given up; empty for one in the data directory.
	Report string
	// NamesKnown says that the person knows each workflow that was lost with its name. It counts only where no other loss
	// is accepted at the same time: a person has to look at that loss first.
	NamesKnown bool
}

// AcceptLoss makes a damaged log usable again, with the engine stopped: what is missing is written
// down as accepted, and every workflow whose past is not proven to be whole is held. It may be repeated after it
// failed.
func AcceptLoss(
	ctx context.Context, s config.Settings, with Parts, logger *slog.Logger, wish Acceptance,
) (result Accepted, err error) {
	if err := mayReport(wish.Report); err != nil {
		return result, err
	}
	d := &Data{Settings: s, With: with, Logger: logger, stopped: true, accepts: true}
	defer func() { err = d.End(err) }()
	if err := d.openBroker(ctx); err != nil {
		return result, err
	}
	known, interrupted, err := begunAcceptance(s.Data)
	if err != nil {
		return result, err
	}
	// What is accepted is noted before anything of it is done, and not by a command that is refused.
	note := func(lost jslog.Lost) error {
		known.add(lost.End, lost.Lines...)
		return noteAcceptance(s.Data, known)
	}
	cfg := d.logConfig()
	cfg.BeforeAccept = note
	lost, err := jslog.AcceptLoss(ctx, d.Broker.NC, cfg)
	if err != nil {
		return result, ExplainLog(s.Data, err)
	}
	if err := d.openLog(ctx); err != nil {
		return result, err
	}
	ahead, err := loss.FindAhead(ctx, d.Log, d.Store)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return result, exit.Failed("", err)
	}
	for _, one := range ahead {
		known.add(true, one.String())
	}
	if err := note(lost); err != nil {
		return result, err
	}
	if err := startEpochs(ctx, d.Log, ahead); err != nil {
		return result, err
	}
	result = Accepted{
		Lost: append([]string{}, known.Lines...), Held: []eventlog.WorkflowName{},
		SetAside: map[eventlog.WorkflowName]string{}, Broken: []eventlog.WorkflowName{},
	}
	err = recordLoss(ctx, d, &result, loss.Loss{
		Actor: wish.Actor, Cause: acceptsLoss, End: known.End,
		Store: d.Store, Report: func(calls []loss.GivenUp) (err error) {
			result.GivenUp = len(calls)
			result.Report, err = reportGivenUp(calls, s.Data, wish.Report)
			return err
		},
	})
	if err != nil {
		return result, err
	}
	changed := result.Changed() || interrupted
	if changed {
		// The log's identity is another one now: what the store knows of it is worthless.
		if err := d.Store.Reset(); err != nil {
			return result, exit.Failed("delete "+filepath.Join(s.Data, "store")+"; it is rebuilt from the log",
				fmt.Errorf("empty the local store: %w", err))
		}
	}
	if interrupted || !changed {
		if err := result.tellAgain(ctx, d); err != nil {
			return result, err
		}
	}
	if err := result.takeNames(ctx, d, wish, !changed); err != nil {
		return result, err
	}
	err = os.Remove(lossFile(s.Data))
	if err == nil {
		err = durable.SyncDir(s.Data) // a crash must not bring the file back
	}
	if err != nil {
		return result, exit.Failed("remove it yourself", fmt.Errorf("end the acceptance: %w", err))
	}
	return result, nil
}

// acceptsLoss is the cause of what an acceptance records.
var acceptsLoss = eventlog.Cause{Kind: "api", ID: "acceptLoss"}

// tellAgain adds the workflows that earlier acceptances hold: an acceptance may have been killed before it printed its
// result.
func (r *Accepted) tellAgain(ctx context.Context, d *Data) error {
	before, err := loss.StillHeld(ctx, d.Log)
	if err != nil {
		return exit.Failed("", err)
	}
	for _, held := range before {
		if !slices.Contains(r.Held, held.Workflow) {
			r.Before = append(r.Before, HeldBefore(held))
		}
	}
	return nil
}

// takeNames says whether names are lost. Where counts is set it records that a person knows them.
func (r *Accepted) takeNames(ctx context.Context, d *Data, wish Acceptance, counts bool) error {
	r.NamesLost = loss.NamesLost(d.Log)
	if !r.NamesLost || !wish.NamesKnown || !counts {
		return nil
	}
	clock, err := NewClock(ctx, d.Settings, d.Log)
	if err == nil {
		err = loss.ConfirmNames(ctx, d.Log, wish.Actor, eventlog.At(clock.Now()), acceptsLoss)
	}
	if err != nil {
		return exit.Failed("names that the log does not know are still held; repeat the command", err)
	}
	r.NamesLost, r.NamesKnown = false, true
	return nil
}

// recordLoss records the loss in the log, and adds to result what became of each workflow.
func recordLoss(ctx context.Context, d *Data, result *Accepted, lost loss.Loss) error {
	clock, err := NewClock(ctx, d.Settings, d.Log)
	if err != nil {
		return exit.Failed("", err)
	}
	lost.At, lost.Detail = eventlog.At(clock.Now()), term.OneLine(strings.Join(result.Lost, "; "), 2000)
	pasts, err := loss.Record(ctx, d.Log, lost)
	if err != nil {
		return exit.Failed("nothing runs before this is done: pawl verify --accept-loss again", err)
	}
	for _, past := range pasts {
		result.add(past)
	}
	return nil
}

// startEpochs starts a new epoch in each of these partitions, so that positions that were remembered there are invalid.
// The sequences after a lost end are used again for other records.
func startEpochs(ctx context.Context, log *jslog.Log, ahead []loss.Ahead) error {
	for _, one := range ahead {
		if _, err := log.SetAside(ctx, one.Partition, nil); err != nil {
			return exit.Failed("", fmt.Errorf("accept the loss: %w", err))
		}
	}
	return nil
}

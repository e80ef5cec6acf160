package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/loss"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/store"
)

// giveWay lets the local store give way to a log that was not synced and has lost its end: that is what
// --sync=interval allows. The store still knows which workflows have lost their newest transitions, and
// these are held: what was done there would otherwise be done again. Where every write is synced the engine
// refuses such a log.
func giveWay(ctx context.Context, d *Data) error {
	if d.Settings.SyncInterval == 0 {
		return nil
	}
	found, err := loss.FindAhead(ctx, d.Log, d.Store)
	switch {
	case errors.Is(err, store.ErrDamaged):
		return nil // a damaged store is rebuilt, and cannot say what the log lacks
	case err != nil:
		return ExplainLog(d.Settings.Data, err)
	case len(found) == 0:
		return nil
	}
	lost := loss.Loss{
		Actor: eventlog.System, Cause: eventlog.Cause{Kind: "restart", ID: "lostEnd"}, Only: true, Store: d.Store,
	}
	result := Accepted{SetAside: map[eventlog.WorkflowName]string{}}
	for _, ahead := range found {
		result.Lost = append(result.Lost, ahead.String())
		lost.Workflows = append(lost.Workflows, ahead.Workflows...)
	}
	// The loss is recorded before the store is emptied: after an interruption the next start then finds the same loss.
	if err := recordLoss(ctx, d, &result, lost); err != nil {
		return err
	}
	if err := startEpochs(ctx, d.Log, found); err != nil {
		return err
	}
	if err := d.Store.Reset(); err != nil {
		return exit.Failed("", fmt.Errorf("empty the local store: %w", err))
	}
	var held []string
	for _, name := range lost.Workflows {
		if name != eventlog.Installation {
			held = append(held, string(name))
		}
	}
	if result.TokensRevoked {
		d.Logger.Warn(TokensRevoked)
	}
	for _, line := range result.Ended() {
		d.Logger.Warn(line)
	}
	d.Logger.Warn("the log lost its end: writes were not synced (--sync=interval), "+
		"and what was recorded there may have been acknowledged and done; "+
		"the local store is rebuilt from what is left, and the workflows concerned are held: "+
		"look at the other side, then pawl resume WORKFLOW",
		"lost", strings.Join(result.Lost, "; "), "held", strings.Join(held, ", "))
	return nil
}

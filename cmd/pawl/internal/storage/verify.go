package storage

import (
	"context"
	"errors"
	"log/slog"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// AcceptHint says what to do about a damaged log.
const AcceptHint = "to go on without what is missing, or cannot be followed, once the engine is stopped and its data " +
	"copied aside: pawl verify --accept-loss"

// VerifyStopped checks the log of an engine that is stopped. The hint says what to do about what is found.
func VerifyStopped(
	ctx context.Context, s config.Settings, with Parts, logger *slog.Logger,
) (found replay.Verification, hint string, err error) {
	d := &Data{Settings: s, With: with, Logger: logger, stopped: true}
	if err := openWhole(ctx, d); err != nil {
		hint = AcceptHint
		if errors.Is(err, eventlog.ErrGone) {
			hint = goneHint(s.Data)
		}
		if err = d.End(err); errors.Is(err, eventlog.ErrDamaged) {
			// Where an engine would refuse to start, the reason is the result of the check.
			return replay.Verification{Problems: []string{err.Error()}}, hint, nil
		}
		return found, "", err
	}
	found, err = replay.Verify(ctx, d.Log, &readmodel.Reader{Store: d.Store}, 0)
	return found, AcceptHint, d.End(err)
}

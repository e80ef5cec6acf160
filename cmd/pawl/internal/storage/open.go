package storage

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog/jslog"
)

// Open opens the broker, the log and the store of the data directory. It fails when another process uses the directory,
// when the log is damaged, or when it lacks something that the store has seen.
func Open(ctx context.Context, s config.Settings, with Parts, logger *slog.Logger) (*Data, error) {
	d := &Data{Settings: s, With: with, Logger: logger}
	err := openWhole(ctx, d)
	if err == nil {
		err = giveWay(ctx, d)
	}
	if err != nil {
		return nil, d.End(err)
	}
	return d, nil
}

// openWhole opens broker, log and store, unless a loss is being accepted. What it opened before it failed stays open.
func openWhole(ctx context.Context, d *Data) error {
	if _, err := os.Stat(restoreFile(d.Settings.Data)); err == nil {
		return ExplainLog(d.Settings.Data, jslog.ErrRestoring)
	}
	if err := d.openBroker(ctx); err != nil {
		return err
	}
	if err := d.openLog(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(lossFile(d.Settings.Data)); err == nil {
		return exit.Failed("finish it: pawl verify --accept-loss",
			errors.New("accepting a loss was interrupted: it is not written down yet which workflows must be held"))
	}
	return nil
}

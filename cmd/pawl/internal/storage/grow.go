package storage

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/ops/backup"
)

// RestoreShared makes a shared log from a backup, on servers that hold none. It makes what Form makes, and fills it
// with the backup. The bucket of the leases comes last, so no engine starts before everything is there. It may be
// repeated after it failed, and then goes on.
func RestoreShared(ctx context.Context, nc *nats.Conn, logger *slog.Logger, from *backup.Folder, want Layout,
	wish Restoration) (result backup.Restored, err error) {
	if err := sourceRests(ctx, from.Source); err != nil {
		return result, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return result, exit.Failed("", err)
	}
	log, err := jslog.Open(ctx, nc, jslog.Config{Partitions: want.Partitions, Replicas: want.Replicas, HoldFormat: true,
		Logger: logger, Restoring: restoring(from)})
	switch {
	case errors.Is(err, jslog.ErrNotEmpty):
		return result, exit.Failed("restore into a cluster that holds no log yet, in the place of pawl cluster init", err)
	case err != nil:
		return result, exit.Failed("the servers must be able to place as many replicas; nothing is lost: repeat the command",
			err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if result, err = backup.Restore(ctx, from, log, wish.at(time.Now())); err != nil {
		hint := "repeat the command: it goes on where it stopped"
		if errors.Is(err, eventlog.ErrTooLarge) {
			hint = "raise max_payload of the servers, then repeat the command: it goes on where it stopped"
		}
		return result, exit.Failed(hint, err)
	}
	return result, addLeases(ctx, js, &want)
}

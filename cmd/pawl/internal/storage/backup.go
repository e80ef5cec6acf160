package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/cmd/pawl/internal/version"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/durable"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/ops/backup"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Source says whose log a backup of the directory is.
func (d *Data) Source() backup.Source {
	host, _ := os.Hostname() // only people read it
	return backup.Source{Installation: d.Log.Installation(), Engines: []string{}, Data: d.Settings.Data, Host: host,
		Version: version.String()}
}

// BackUpStopped copies the log of an engine that is stopped into a folder.
func BackUpStopped(ctx context.Context, s config.Settings, with Parts, logger *slog.Logger,
	dir string) (taken backup.Taken, err error) {
	d := &Data{Settings: s, With: with, Logger: logger, stopped: true}
	defer func() { err = d.End(err) }()
	if err := openWhole(ctx, d); err != nil {
		return taken, err
	}
	return backup.Take(ctx, backup.Opened{Log: d.Log, Source: d.Source()}, dir)
}

// Restoration says how a backup is restored.
type Restoration struct {
	Actor eventlog.Actor
	// Partitions of the new log; 0 means as many as the backup has.
	Partitions int
	NamesKnown bool
	Progress   func(done, all int)
}

func (w Restoration) at(now time.Time) backup.Wish {
	return backup.Wish{Actor: w.Actor, At: eventlog.At(now), Cause: eventlog.Cause{Kind: "api", ID: "restore"},
		NamesKnown: w.NamesKnown, Progress: w.Progress}
}

// restoring names the log that is made of a backup: the installation is the same, its generation a new one.
func restoring(from *backup.Folder) *jslog.Restoring {
	return &jslog.Restoring{Backup: from.ID,
		Installation: eventlog.InstallationID(from.Installation) + "." + strings.ToLower(rand.Text()[:8])}
}

// Restore makes a log of a backup, in a data directory that holds none.
func Restore(ctx context.Context, s config.Settings, with Parts, logger *slog.Logger, from *backup.Folder,
	wish Restoration) (result backup.Restored, err error) {
	if err := sourceRests(ctx, from.Source); err != nil {
		return result, err
	}
	if holds := datadir.HoldsLog(s.Data); holds {
		// An interrupted restore goes on; every other log is refused before the broker starts on it.
		if _, err := os.Stat(restoreFile(s.Data)); err != nil {
			return result, ExplainLog(s.Data, fmt.Errorf("%w: there is a log in %s", jslog.ErrNotEmpty, term.Path(s.Data)))
		}
	}
	d := &Data{Settings: s, With: with, Logger: logger, stopped: true, restoring: restoring(from)}
	defer func() { err = d.End(err) }()
	// This comes first, so that an engine that is started in between makes no log of its own.
	err = os.MkdirAll(s.Data, 0o700)
	if err == nil {
		err = durable.WriteFile(restoreFile(s.Data), []byte(from.ID+"\n"))
	}
	if err != nil {
		return result, exit.Failed("choose another with --data DIR", fmt.Errorf("begin the restore: %w", err))
	}
	if err := d.openBroker(ctx); err != nil {
		return result, err
	}
	cfg := d.logConfig()
	cfg.Partitions = wish.Partitions
	if cfg.Partitions == 0 {
		cfg.Partitions = from.Partitions()
	}
	if d.Log, err = jslog.Open(ctx, d.Broker.NC, cfg); err != nil {
		return result, ExplainLog(s.Data, err)
	}
	d.Opened.Add(d.Log.Close)
	clock, err := NewClock(ctx, s, from)
	if err != nil {
		return result, exit.Failed("", err)
	}
	if result, err = backup.Restore(ctx, from, d.Log, wish.at(clock.Now())); err != nil {
		return result, ExplainLog(s.Data, err)
	}
	if err := os.Remove(restoreFile(s.Data)); err != nil {
		return result, exit.Failed("remove it yourself", fmt.Errorf("end the restore: %w", err))
	}
	return result, nil
}

// restoreFile, in the data directory, says that a restore was begun and has not ended.
func restoreFile(data string) string { return filepath.Join(data, "restoring") }

// askTime bounds the question whether an engine answers.
const askTime = 5 * time.Second

// sourceRests refuses to restore while an engine of the log that was copied answers: both would do the same work.
func sourceRests(ctx context.Context, s backup.Source) error {
	refuse := func(where string) error {
		return exit.Failed("stop it for good first: two engines with the same past would do the same work twice; "+
			"then restore", fmt.Errorf("the engine whose log was copied is still there: %s", where))
	}
	addresses := s.Engines
	if host, err := os.Hostname(); s.Data != "" && err == nil && host == s.Host {
		inUse, err := embeddednats.InUse(s.Data)
		if err != nil {
			return exit.Failed("", err)
		}
		if inUse {
			return refuse("a process uses " + term.Path(s.Data))
		}
		if written, err := datadir.HTTPAddress(s.Data); err == nil && written != "" {
			addresses = append(addresses, written)
		}
	}
	for _, address := range addresses {
		asked, cancel := context.WithTimeout(ctx, askTime)
		found, err := (&rpc.Client{URL: address}).Installation(asked)
		cancel()
		switch {
		case found == s.Installation:
			return refuse("it answers at " + address)
		case errors.Is(err, rpc.ErrUntrusted):
			return exit.Failed("name its authority, so that it can be asked: SSL_CERT_FILE=CA.pem before the command; or "+
				"stop what answers there", fmt.Errorf("it cannot be told whether the engine whose log was copied answers: %w", err))
		}
	}
	return nil
}

package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/ops/backup"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
)

// Backup is `pawl backup`: copy the log into a folder.
type Backup struct {
	client.Flags
	Dir string `arg:"" type:"path" help:"Where the backup is made: a folder that is empty or not there."`
}

// Help says what a backup is.
func (*Backup) Help() string {
	return "A backup is the log, which everything else follows from: all of it as it is when the command begins. It is " +
		"read back and checked as pawl verify does. The configuration, secrets, tools and what scripts logged are not in " +
		"it. Without an engine, the log in the data directory is copied, and no engine can start meanwhile."
}

// remote is the log of a running engine.
type remote struct{ *client.Connection }

// Describe implements backup.Origin.
func (r remote) Describe(ctx context.Context) (d backup.Description, err error) {
	return d, r.Do(ctx, "describeBackup", nil, &d)
}

// Page implements backup.Origin.
func (r remote) Page(ctx context.Context, partition int, from, through uint64) (page backup.Page, err error) {
	params := map[string]any{"partition": partition, "from": from, "through": through}
	return page, r.Do(ctx, "readBackup", params, &page)
}

// Run copies the log through the running engine; without one it copies the log of the data directory itself.
func (c *Backup) Run(ctx context.Context, engine *client.Finder, screen term.Screen, conf config.Reader,
	with storage.Parts) error {
	connected, err := engine.Find(c.Flags)
	if err != nil {
		return err
	}
	var taken backup.Taken
	if connected.Stranger == nil {
		taken, err = backup.Take(ctx, remote{connected}, c.Dir)
	}
	if connected.Stranger != nil || errors.Is(err, rpc.ErrUnreachable) && !c.Named() {
		s, failed := connected.StoppedData(conf)
		if failed != nil {
			return failed
		}
		taken, err = storage.BackUpStopped(ctx, s, with, term.Logger(screen), c.Dir)
	}
	if err != nil {
		return explainBackup(connected.Explain(err), c.Dir)
	}
	if c.JSON {
		document, err := json.Marshal(taken.Manifest)
		if err != nil {
			return fmt.Errorf("print what was copied: %w", err)
		}
		return screen.JSON(document)
	}
	fmt.Fprintf(screen.Out, "%s, %s, %s in %s: whole\n", term.Plural(taken.Workflows, "workflow"),
		term.Plural(taken.Records(), "transition"), schedule.Size(taken.Bytes()), term.Path(c.Dir))
	for _, name := range taken.NotFolded {
		fmt.Fprintf(screen.Err, "  %s was copied and is whole, and was not folded anew: that takes too much memory\n", name)
	}
	fmt.Fprintf(screen.Err, "  not in it: configuration, secrets, tools and their users, what scripts logged\n")
	return nil
}

// explainBackup says what to do where no backup could be made.
func explainBackup(err error, dir string) error {
	var answered *rpc.Problem
	switch {
	case errors.Is(err, backup.ErrNotEmpty):
		return exit.Failed("name another one: a backup is never made over something else", err)
	case errors.Is(err, backup.ErrWrong), replay.Damaged(err), errors.As(err, &answered) && answered.Code == "log.damaged":
		return exit.Failed("no backup was made, and "+term.Path(dir)+" can be deleted; pawl verify finds all that is "+
			"wrong; to keep what is left, stop the engine and copy its data directory", err)
	}
	return err
}

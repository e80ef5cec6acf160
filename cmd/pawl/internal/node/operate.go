package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	sdaemon "github.com/coreos/go-systemd/v22/daemon"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/cmd/pawl/internal/version"
)

// Beside is what a command does while its engine runs. It is no work that could keep an engine from
// being idle, and ends with ctx: at once with an interrupt, and before an engine that has ended its
// work is stopped. A nil one does nothing.
type Beside func(ctx context.Context, out *term.Printer)

// during runs b while work does.
func (b Beside) during(ctx context.Context, out *term.Printer, work func() error) error {
	if b == nil {
		return work()
	}
	var ended sync.WaitGroup
	defer ended.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	ended.Go(func() { b(ctx, out) })
	return work()
}

// Operate opens an installation, runs its engine, lets begin do its part once the engine is ready,
// and goes on until everything is idle (if asked) or until it is interrupted. When it is idle for
// the first time, idle (may be nil) has its say.
func Operate(ctx context.Context, screen term.Screen, s config.Settings, with Parts, begin func(context.Context, *Node) (Beside, error), idle func()) (err error) {
	term.OutliveReaders(screen.Out)
	// The first line says where everything is kept, whatever happens next.
	fmt.Fprintf(screen.Out, "pawl: data in %s\n", term.Path(s.Data))
	if s.SyncInterval > 0 {
		fmt.Fprintf(screen.Out, "pawl: --sync=interval: writes are synced every %s, so a power failure can lose the last %s of what was recorded\n", s.SyncInterval, s.SyncInterval)
	}
	logger := term.Logger(screen)
	if _, set := screen.Env("PAWL_TOKEN"); set {
		logger.Info("PAWL_TOKEN is for commands; what this engine asks for is in its data directory", "file", term.Path(filepath.Join(s.Data, datadir.TokenFile)))
	}
	if s.NoAuth {
		logger.Warn("this engine asks nobody for a token: every user and program of this machine may do everything", "flag", "--no-auth")
	}
	in, err := Open(ctx, s, with, logger)
	if err != nil {
		return err
	}
	out := term.NewPrinter(screen.Err)
	told := term.NewProgress(out.Print, screen.Style(screen.Err))
	defer func() {
		err = in.end(err)
		out.Close()
	}()
	if told.Before, err = in.ends(ctx); err != nil {
		return explainLog(s.Data, err)
	}
	if err := in.Compose(ctx, told.Observe, version.String()); err != nil {
		return err
	}
	told.State = in.Engine.State
	in.announceNATS(screen.Out)
	in.Announce = sync.OnceFunc(func() {
		fmt.Fprintf(screen.Out, "pawl: answering on %s\n", in.URL(s.TLSCert != ""))
		tellSupervisor(logger, sdaemon.SdNotifyReady)
	})
	return in.Run(ctx, func(working context.Context) error {
		meanwhile, err := begin(working, in)
		if err != nil {
			return err
		}
		in.Announce()
		return meanwhile.during(working, out, func() error {
			switch ended, err := followWork(working, in, told, out, idle); {
			case ended:
				return stopping(ctx, screen)
			default:
				return err
			}
		})
	})
}

// ends is the last position of each partition.
func (in *Node) ends(ctx context.Context) ([]uint64, error) {
	ends := make([]uint64, in.Log.Partitions())
	for p := range ends {
		var err error
		if ends[p], err = in.Log.Last(ctx, p); err != nil {
			return nil, err
		}
	}
	return ends, nil
}

// followWork waits: until everything is idle if that is wanted, else for the interrupt. It reports whether it was interrupted.
func followWork(ctx context.Context, in *Node, told *term.Progress, out *term.Printer, idle func()) (interrupted bool, err error) {
	switch err := in.waitIdle(ctx); {
	case errors.Is(err, diskspace.ErrLacking):
		return false, exit.Failed("free space there and start again; nothing is lost", err)
	case err != nil:
		return true, nil
	}
	in.awaitCheck(ctx)
	waiting, paused, err := in.standing(ctx)
	switch {
	case ctx.Err() != nil: // whatever became of the question
		return true, nil
	case err != nil:
		return false, err
	}
	for _, why := range slices.Concat(waiting, paused) {
		line := told.Style.Yellow("?") + " " + term.OneLine(why.Message, 2000)
		if len(why.Commands) > 0 {
			line += " Try: " + why.Commands[0]
		}
		out.Print(line)
	}
	out.Print(told.Style.Dim(caughtUp(len(waiting), len(paused)) + told.Count().String()))
	out.Flush() // in the order in which it happened
	if idle != nil {
		idle()
	}
	if !in.Settings.UntilIdle {
		out.Print(told.Style.Dim("waiting for more; Ctrl-C stops"))
		<-ctx.Done()
		return true, nil
	}
	if len(waiting) > 0 {
		return false, exit.Silent(exit.CodeNeedsPerson)
	}
	return false, nil
}

// waitIdle waits until everything is idle. Work that waits for room on the disk may wait forever:
// who asked for an end is told after as long as storage is given otherwise.
func (in *Node) waitIdle(ctx context.Context) error {
	if !in.Settings.UntilIdle {
		return in.Engine.WaitIdle(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(in.space.Lacking(ctx, in.Settings.Policies.Storage.Wait)) }()
	if err := in.Engine.WaitIdle(ctx); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}

// stopping says that the interrupt was heard.
func stopping(ctx context.Context, screen term.Screen) error {
	if ctx.Err() != nil {
		fmt.Fprintln(screen.Err, "pawl: stopping; handlers under way end first (again to stop at once)")
		tellSupervisor(term.Logger(screen), sdaemon.SdNotifyStopping)
	}
	return nil
}

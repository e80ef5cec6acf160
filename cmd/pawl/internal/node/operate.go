package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	sdaemon "github.com/coreos/go-systemd/v22/daemon"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/cmd/pawl/internal/version"
	"github.com/pawl-run/pawl/ops/explain"
)

// SideTask is what a command does while its engine runs. An engine counts as idle even while its side task works. The
// task ends with ctx, which ends at an interrupt, and before an engine that has ended its work is stopped. A nil one
// does nothing.
type SideTask func(ctx context.Context, out *term.Printer)

// runWith runs b while work runs.
func (b SideTask) runWith(ctx context.Context, out *term.Printer, work func() error) error {
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

// Begin is what a command does once its engine is ready.
type Begin func(context.Context, *Node) (SideTask, error)

// Operate opens a data directory and runs its engine, until everything is idle (if that is wanted) or until it is
// interrupted. It calls begin once the engine is ready, and idle (which may be nil) when the engine is idle for the
// first time.
func Operate(
	ctx context.Context, screen term.Screen, s config.Settings, with storage.Parts, begin Begin, idle func(),
) (err error) {
	term.OutliveReaders(screen.Out)
	logger := term.Logger(screen)
	sayTerms(screen, logger, s)
	heapCtx, leaveHeap := context.WithCancel(context.WithoutCancel(ctx))
	defer leaveHeap()
	go TendHeap(heapCtx)
	d, err := storage.Open(ctx, s, with, logger)
	if err != nil {
		return err
	}
	out := term.NewPrinter(screen.Err)
	progress := term.NewProgress(out.Print, screen.Style(screen.Err))
	defer func() {
		err = d.End(err)
		out.Close()
	}()
	d.Scripts.Tell = progress.Said
	if progress.Before, err = d.Ends(ctx); err != nil {
		return storage.ExplainLog(s.Data, err)
	}
	n, err := Compose(ctx, d, progress.Observe, version.String())
	if err != nil {
		return err
	}
	progress.State = n.Engine.State
	d.Broker.Listener.Announce(screen.Out, d.Broker.ClientURL())
	n.Announce = sync.OnceFunc(func() {
		fmt.Fprintf(screen.Out, "pawl: answering on %s\n", n.Endpoint.URL())
		if n.Hooks != nil {
			fmt.Fprintf(screen.Out, "pawl: answering hooks alone on %s\n", n.Hooks.URL())
		}
		tellSupervisor(logger, sdaemon.SdNotifyReady)
	})
	return n.Run(ctx, func(working context.Context) error {
		meanwhile, err := begin(working, n)
		if err != nil {
			return err
		}
		for _, missing := range builtin.Missing(n.registry, n.Engine.States()) {
			fmt.Fprintf(screen.Err, "pawl: warning: %s\n", missing)
		}
		n.Announce()
		return meanwhile.runWith(working, out, func() error {
			switch ended, err := followWork(working, n, progress, out, idle); {
			case ended:
				return stopping(ctx, screen)
			default:
				return err
			}
		})
	})
}

// sayTerms prints, before anything can fail, where the data is kept, and which guarantees the settings give up.
func sayTerms(screen term.Screen, logger *slog.Logger, s config.Settings) {
	fmt.Fprintf(screen.Out, "pawl: data in %s\n", term.Path(s.Data))
	if s.SyncInterval > 0 {
		fmt.Fprintf(screen.Out, "pawl: --sync=interval: writes are synced every %s, "+
			"so a power failure can lose the last %s of what was recorded\n", s.SyncInterval, s.SyncInterval)
	}
	if _, set := screen.Env("PAWL_TOKEN"); set {
		logger.Info("PAWL_TOKEN is for commands; what this engine asks for is in its data directory",
			"file", term.Path(filepath.Join(s.Data, datadir.TokenFile)))
	}
	if s.NoAuth {
		logger.Warn("this engine asks for no token: every user and program of this machine may do everything",
			"flag", "--no-auth")
	}
}

// followWork waits until everything is idle if that is wanted, else until the interrupt. It reports whether it was
// interrupted.
func followWork(
	ctx context.Context, n *Node, progress *term.Progress, out *term.Printer, idle func(),
) (interrupted bool, err error) {
	switch err := n.waitIdle(ctx); {
	case errors.Is(err, diskspace.ErrLacking):
		return false, exit.Failed("free space there and start again; nothing is lost", err)
	case err != nil:
		return true, nil
	}
	untilIdle := n.Data.Settings.UntilIdle
	if untilIdle {
		n.check.await(ctx)
	}
	look := attention{engine: n.Engine, reader: n.reader(), logger: n.Data.Logger, now: n.clock.Now}
	waiting, paused, err := look.list(ctx)
	switch {
	case ctx.Err() != nil: // an interrupt counts before an error of the question
		return true, nil
	case err != nil:
		return false, err
	}
	refused := 0
	if n.Refused != nil {
		refused = n.Refused()
	}
	sayCaughtUp(progress, out, waiting, paused, refused)
	out.Flush() // so that everything is printed in the order in which it happened
	if idle != nil {
		idle()
	}
	if !untilIdle {
		out.Print(progress.Style.Dim("waiting for more; Ctrl-C stops"))
		<-ctx.Done()
		return true, nil
	}
	if len(waiting) > 0 {
		return false, exit.Silent(exit.CodeNeedsPerson)
	}
	return false, nil
}

// sayCaughtUp prints which workflows stand still and why, and then how far the work is done.
func sayCaughtUp(progress *term.Progress, out *term.Printer, waiting, paused []explain.Why, refused int) {
	for _, why := range slices.Concat(waiting, paused) {
		message, commands := why.Headline()
		line := progress.Style.Yellow("?") + " " + term.OneLine(message, 2000)
		if len(commands) > 0 {
			line += " Try: " + strings.Join(commands, ", or ") + "; more: pawl why " + string(why.Workflow)
		}
		out.Print(line)
	}
	out.Print(progress.Style.Dim(caughtUp(len(waiting), len(paused), refused) + progress.Count().String()))
}

// stopping prints that the interrupt was received.
func stopping(ctx context.Context, screen term.Screen) error {
	if ctx.Err() != nil {
		fmt.Fprintln(screen.Err, "pawl: stopping; handlers under way end first (again to stop at once)")
		tellSupervisor(term.Logger(screen), sdaemon.SdNotifyStopping)
	}
	return nil
}

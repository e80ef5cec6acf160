package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	sdaemon "github.com/coreos/go-systemd/v22/daemon"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// serveCmd is the engine alone.
type serveCmd struct {
	engineFlags
	UntilIdle *bool `setting:"" help:"End when nothing is active, due or backing off; exit code 3 if a workflow needs a person."`
}

// Run runs the workflows that are there until it is interrupted.
func (c *serveCmd) Run(ctx context.Context, screen term.Screen, conf reader, with parts) error {
	s, err := conf.settle(c.engineFlags, c.UntilIdle)
	if err != nil {
		return err
	}
	return operate(ctx, screen, s, with, func(context.Context, *installation) (beside, error) { return nil, nil }, nil)
}

// beside is what a command does while its engine runs. It is no work that could keep an engine from
// being idle, and ends with ctx: at once with an interrupt, and before an engine that has ended its
// work is stopped. A nil one does nothing.
type beside func(ctx context.Context, out *term.Printer)

// during runs b while work does.
func (b beside) during(ctx context.Context, out *term.Printer, work func() error) error {
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

// operate opens an installation, runs its engine, lets begin do its part once the engine is ready,
// and goes on until everything is idle (if asked) or until it is interrupted. When it is idle for
// the first time, idle (may be nil) has its say.
func operate(ctx context.Context, screen term.Screen, s settings, with parts, begin func(context.Context, *installation) (beside, error), idle func()) (err error) {
	term.OutliveReaders(screen.Out)
	// The first line says where everything is kept, whatever happens next.
	fmt.Fprintf(screen.Out, "pawl: data in %s\n", shown(s.Data))
	if s.SyncInterval > 0 {
		fmt.Fprintf(screen.Out, "pawl: --sync=interval: writes are synced every %s, so a power failure can lose the last %s of what was recorded\n", s.SyncInterval, s.SyncInterval)
	}
	logger := newLogger(screen)
	if _, set := screen.Env("PAWL_TOKEN"); set {
		logger.Info("PAWL_TOKEN is for commands; what this engine asks for is in its data directory", "file", shown(filepath.Join(s.Data, tokenFile)))
	}
	if s.NoAuth {
		logger.Warn("this engine asks nobody for a token: every user and program of this machine may do everything", "flag", "--no-auth")
	}
	in, err := openData(ctx, s, with, logger)
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
	if err := in.compose(ctx, told.Observe, version()); err != nil {
		return err
	}
	told.State = in.engine.State
	in.announceNATS(screen.Out)
	in.announce = sync.OnceFunc(func() {
		fmt.Fprintf(screen.Out, "pawl: answering on %s\n", in.url(s.TLSCert != ""))
		tellSupervisor(logger, sdaemon.SdNotifyReady)
	})
	return in.run(ctx, func(working context.Context) error {
		meanwhile, err := begin(working, in)
		if err != nil {
			return err
		}
		in.announce()
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
func (in *installation) ends(ctx context.Context) ([]uint64, error) {
	ends := make([]uint64, in.log.Partitions())
	for p := range ends {
		var err error
		if ends[p], err = in.log.Last(ctx, p); err != nil {
			return nil, err
		}
	}
	return ends, nil
}

// newLogger writes what an operator should know to standard error.
func newLogger(screen term.Screen) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if term.IsTerminal(screen.Err) {
		options.ReplaceAttr = func(groups []string, attr slog.Attr) slog.Attr {
			if attr.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return attr
		}
	}
	return slog.New(slog.NewTextHandler(screen.Err, options))
}

// run runs engine and interface until work is done, ctx ends or one of them fails. The interface
// answers as long as the engine drains, so that an operator can see what it waits for.
func (in *installation) run(ctx context.Context, work func(context.Context) error) error {
	engineCtx, stopEngine := context.WithCancel(ctx)
	defer stopEngine()
	apiCtx, stopAPI := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAPI()
	workCtx, stopWork := context.WithCancel(ctx)
	defer stopWork()

	go tendHeap(apiCtx)
	checked := in.checkLog(apiCtx)
	defer checked()
	ended, served, finished := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { ended <- in.engine.Run(engineCtx) }()
	go func() { served <- in.api.Serve(apiCtx, in.listener) }()
	go func() {
		select {
		case <-in.engine.Ready():
			finished <- work(workCtx)
		case <-workCtx.Done():
			finished <- nil
		}
	}()

	var result, fatal error
	select {
	case result = <-finished:
		stopEngine()
		fatal = <-ended
	case fatal = <-ended:
		stopWork()
		result = <-finished
	case err := <-served:
		served <- nil
		stopWork()
		result = errors.Join(exit.Failed("", err), <-finished)
		stopEngine()
		fatal = <-ended
	}
	stopAPI()
	if err := <-served; err != nil && result == nil {
		result = exit.Failed("", err)
	}
	if fatal != nil {
		return explainLog(in.settings.Data, fatal)
	}
	return result
}

// followWork waits: until everything is idle if that is wanted, else for the interrupt. It reports whether it was interrupted.
func followWork(ctx context.Context, in *installation, told *term.Progress, out *term.Printer, idle func()) (interrupted bool, err error) {
	switch err := in.waitIdle(ctx); {
	case errors.Is(err, errNoRoom):
		return false, exit.Failed("free space there and start again; nothing is lost", err)
	case err != nil:
		return true, nil
	}
	in.awaitCheck(ctx)
	waiting, err := in.needPerson(ctx)
	switch {
	case ctx.Err() != nil: // whatever became of the question
		return true, nil
	case err != nil:
		return false, err
	}
	for _, why := range waiting {
		line := told.Style.Yellow("?") + " " + term.OneLine(why.Message, 2000)
		if len(why.Commands) > 0 {
			line += " Try: " + why.Commands[0]
		}
		out.Print(line)
	}
	caught := "all caught up: "
	if len(waiting) > 0 {
		caught = "caught up but for " + term.Plural(len(waiting), "workflow") + " that need a person: "
		if len(waiting) == 1 {
			caught = "caught up but for 1 workflow that needs a person: "
		}
	}
	out.Print(told.Style.Dim(caught + told.Count().String()))
	out.Flush() // in the order in which it happened
	if idle != nil {
		idle()
	}
	if !in.settings.UntilIdle {
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
func (in *installation) waitIdle(ctx context.Context) error {
	if !in.settings.UntilIdle {
		return in.engine.WaitIdle(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(in.room.lacking(ctx, in.settings.Policies.Storage.Wait)) }()
	if err := in.engine.WaitIdle(ctx); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}

// stopping says that the interrupt was heard.
func stopping(ctx context.Context, screen term.Screen) error {
	if ctx.Err() != nil {
		fmt.Fprintln(screen.Err, "pawl: stopping; handlers under way end first (again to stop at once)")
		tellSupervisor(newLogger(screen), sdaemon.SdNotifyStopping)
	}
	return nil
}

// needPerson explains the workflows that do not go on by themselves, and those that need attention.
func (in *installation) needPerson(ctx context.Context) ([]explain.Why, error) {
	reader := readmodel.Reader{Store: in.store, Flush: in.engine.Flush}
	stopped := in.engine.Stopped()
	var waiting []explain.Why
	for cursor := ""; ; {
		page, err := reader.Workflows(ctx, readmodel.ListOptions{Cursor: cursor, Limit: readmodel.MaxLimit})
		if err != nil {
			return nil, fmt.Errorf("list the workflows: %w", err)
		}
		for _, w := range page.Items {
			if why, ok := in.needsPerson(w.Name, stopped[w.Name]); ok {
				waiting = append(waiting, why)
			}
			delete(stopped, w.Name)
		}
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	// Of what stopped at its first record the local store knows nothing.
	for _, name := range slices.Sorted(maps.Keys(stopped)) {
		why, _ := in.needsPerson(name, stopped[name])
		waiting = append(waiting, why)
	}
	return waiting, nil
}

func (in *installation) needsPerson(name eventlog.WorkflowName, stopped error) (explain.Why, bool) {
	if stopped != nil {
		return explain.Why{Workflow: name, Message: fmt.Sprintf("Workflow %s is out of service: %v.", name, stopped), Commands: []string{"pawl verify"}}, true
	}
	if past := in.engine.Damage().Workflows[name]; past != nil {
		return explain.Damaged(name, past), true
	}
	wait, ok := in.engine.Why(name)
	state, exists := in.engine.State(name)
	if !ok || wait == nil || !exists {
		return explain.Why{}, false
	}
	switch wait.Reason {
	case decide.ReasonApproval, decide.ReasonIndeterminate, decide.ReasonMaintenance, decide.ReasonBlocked:
		return explain.Workflow(&state, *wait), true
	case decide.ReasonUserPause: // who ends the pause ends the system's hold behind it, and must know of it
		return explain.Workflow(&state, *wait), state.Blocked != nil || state.Attention() != nil
	}
	return explain.Workflow(&state, *wait), state.Attention() != nil
}

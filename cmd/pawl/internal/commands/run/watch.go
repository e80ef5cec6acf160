package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/notices"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// watching deploys the files again whenever their bytes change, by the rules of the start. It complains about a file
// that cannot be deployed, and running workflows go on.
func (d deployer) watching(sources []source.Script) node.SideTask {
	return func(ctx context.Context, out *term.Printer) {
		// These messages are printed in order with the engine's progress, and wait for no reader.
		d.screen.Out, d.screen.Err = out, out
		w := watcher{deployer: d}
		for _, s := range sources {
			if info, err := os.Stat(s.Path); err == nil && !info.Mode().IsRegular() {
				continue // a pipe can be read only once
			}
			w.files = append(w.files, &watched{path: s.Path, hash: hashOf(s.Text), abandon: func() {}})
		}
		w.run(ctx, notices.Open)
	}
}

// watcher deploys files while an engine runs.
type watcher struct {
	deployer
	files []*watched

	// deploying is held during each deploy: by a look at the files, and by the deploy of a file that has got its tools.
	deploying sync.Mutex
	waiting   sync.WaitGroup
}

func (w *watcher) run(ctx context.Context, open func() (notices.Follower, func() error, error)) {
	if len(w.files) == 0 {
		return
	}
	n, done, err := open()
	if err != nil {
		w.unnoticed(err)
		return
	}
	for _, f := range w.files {
		n.Files = append(n.Files, f.path)
	}
	var once sync.Once
	n.Failed = func(err error) { once.Do(func() { w.unnoticed(err) }) }
	n.Follow(ctx, func() { w.look(ctx) })
	w.waiting.Wait()
	_ = done() // notices are not waited for any more
}

// unnoticed warns that the system does not report changes.
func (w *watcher) unnoticed(err error) {
	fmt.Fprintf(w.screen.Err,
		"pawl: warning: a file that changes while this runs may not be deployed: %v\n  start again after a change, "+
			"or: pawl deploy FILE\n", err)
}

// watched is a file as it was last found.
type watched struct {
	path string
	// hash is that of the bytes that were last tried; empty if the next bytes are to be tried whatever they are.
	hash string
	// lost is set while the file cannot be read.
	lost bool
	// abandon ends the last try, where that still waits for its tools.
	abandon context.CancelFunc
}

// finding is the result of a look at a file.
type finding int

const (
	foundSame finding = iota
	foundChanged
	foundLost
)

// find reports each change of the file once: text and err are what was read.
func (f *watched) find(text []byte, err error) finding {
	switch {
	case err != nil && f.lost:
		return foundSame
	case err != nil:
		f.lost = true
		return foundLost
	}
	f.lost = false
	if hash := hashOf(text); f.hash != hash {
		f.hash = hash
		return foundChanged
	}
	return foundSame
}

// look tries the files whose bytes are not those that were last tried.
func (w *watcher) look(ctx context.Context) {
	w.deploying.Lock()
	defer w.deploying.Unlock()
	for _, f := range w.files {
		text, err := readRegular(f.path)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, fs.ErrNotExist) && w.refused.remove(f.path) {
			f.hash = "" // the refused file is gone; one that comes back is tried even with the same bytes
		}
		switch found := f.find(text, err); {
		case found == foundChanged && len(bytes.TrimSpace(text)) == 0: // as after `command >FILE` before it has written
			f.abandon()
			w.goesOn(f.path, "is empty")
		case found == foundChanged:
			f.abandon()
			w.try(ctx, f, source.Script{Path: f.path, Text: text})
		case found == foundLost:
			what := "is gone"
			if !errors.Is(err, fs.ErrNotExist) {
				what = "cannot be read: " + term.OneLine(err.Error(), 400)
			}
			w.goesOn(f.path, what)
		}
	}
}

// readRegular reads regular files alone: opening a pipe waits for its writer.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", term.Path(path))
	}
	return os.ReadFile(path)
}

// try deploys a file that has changed, as soon as the tools that it needs are there.
func (w *watcher) try(ctx context.Context, f *watched, s source.Script) {
	err := s.CheckText()
	if err == nil {
		err = w.checkName(ctx, s)
	}
	if err != nil {
		w.reject(ctx, f, err)
		return
	}
	missing := w.awaits(ctx, s)
	if len(missing) == 0 {
		w.again(ctx, f, s)
		return
	}
	ctx, f.abandon = context.WithCancel(ctx)
	w.waiting.Go(func() {
		err := w.await(ctx, s, missing)
		w.deploying.Lock()
		defer w.deploying.Unlock()
		switch {
		case ctx.Err() != nil: // the file has changed meanwhile, or the process ends
		case err != nil:
			w.reject(ctx, f, err)
		default:
			w.again(ctx, f, s)
		}
	})
}

// again deploys, with the same complaints as at the start.
func (w *watcher) again(ctx context.Context, f *watched, s source.Script) {
	accepted, err := w.deploy(ctx, s)
	switch {
	case err != nil:
		f.hash = "" // the file may not be the cause, so the same bytes may be tried again
		w.reject(ctx, f, exit.Failed("save the file once more to try it again", fmt.Errorf("deploy %s: %w", term.Path(s.Path),
			err)))
	case !accepted:
		w.refuse(f.path)
	default:
		w.refused.remove(f.path)
	}
}

func (w *watcher) reject(ctx context.Context, f *watched, err error) {
	if ctx.Err() != nil {
		return // the process ends
	}
	exit.Complain(ctx, w.screen.Err, err)
	w.refuse(f.path)
}

// checkName refuses a file that now names another workflow: a name that was saved half written would become a workflow
// of its own, which runs beside the first one. A new name is allowed where the first workflow is archived.
func (w *watcher) checkName(ctx context.Context, s source.Script) error {
	definition, _, err := w.in.Scripts.Describe(ctx, sandbox.Source{Filename: s.Name(), Code: string(s.Text)})
	if err != nil || definition.Name == "" {
		return nil // the deploy reports what is wrong
	}
	name, before := eventlog.WorkflowName(definition.Name), w.known.Files[s.Path].Workflow
	if name == before {
		return nil
	}
	for _, other := range w.files {
		if other.path != s.Path && w.known.Files[other.path].Workflow == name {
			return twins(other.path, s.Path, name)
		}
	}
	if state, exists := w.in.Engine.State(before); exists && !state.Archived {
		return exit.Failed(fmt.Sprintf("give it back its name; or start again to run both, after `pawl archive %s` only "+
			"the new one", before),
			fmt.Errorf("%s was workflow %s and is now %s", term.Path(s.Path), before, name))
	}
	return nil
}

package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// Past shows workflows as they were at their revisions, in short steps: it folds a workflow's log from its beginning,
// once, and keeps the state at every [defaultStride]-th revision. From the nearest of these states the fold to any
// revision is short. Finished runs and events leave memory for a store of its own, as in an engine. It is safe for
// concurrent use.
type Past struct {
	cfg PastConfig
	// turn is held by the request that folds: only one folds at a time, so that enough processor time is left for the
	// engine.
	turn chan struct{}

	mu     sync.Mutex
	folds  []*pastFold // those that were used last, the newest first
	closed bool
}

// PastConfig of a Past. Log is required.
type PastConfig struct {
	Log eventlog.Log
	// Dir is the folder in which the folds keep finished runs and events; NewPast empties it. An empty Dir means memory.
	Dir string
	// Step bounds the time of one answer in which it folds; 0 means 120 ms.
	Step time.Duration
	// Idle is the time after which an unused fold is thrown away; 0 means five minutes.
	Idle   time.Duration
	Logger *slog.Logger

	stride uint64
}

const (
	// defaultStride is the distance of two kept states in revisions: at most so many records are folded for an answer.
	defaultStride = 256
	// foldsKept is how many workflows have their folds kept at the same time.
	foldsKept = 2
)

// NewPast makes a Past.
func NewPast(cfg PastConfig) (*Past, error) {
	if cfg.Step == 0 {
		cfg.Step = 120 * time.Millisecond
	}
	if cfg.Idle == 0 {
		cfg.Idle = 5 * time.Minute
	}
	if cfg.stride == 0 {
		cfg.stride = defaultStride
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Dir != "" {
		if err := os.RemoveAll(cfg.Dir); err != nil {
			return nil, fmt.Errorf("empty the folder of former folds: %w", err)
		}
	}
	return &Past{cfg: cfg, turn: make(chan struct{}, 1)}, nil
}

// Close throws all folds away.
func (p *Past) Close() {
	p.mu.Lock()
	gone := p.folds
	p.folds, p.closed = nil, true
	p.mu.Unlock()
	for _, j := range gone {
		p.end(j)
	}
	if p.cfg.Dir != "" {
		_ = os.RemoveAll(p.cfg.Dir) // if it fails, the next start does it
	}
}

// errPastClosed says that there is no past any more, since the engine ends.
var errPastClosed = errors.New("the engine ends")

// At shows the workflow at the revision, which must exist, or how far the fold has come in one step. Errors: those of
// the log and of the store, [eventlog.ErrDamaged] for a record that cannot be folded.
func (p *Past) At(ctx context.Context, name eventlog.WorkflowName, revision uint64) (Glimpse, error) {
	glimpse := Glimpse{Revision: revision}
	step, cancel := context.WithTimeout(ctx, p.cfg.Step)
	defer cancel()
	j, err := p.fold(name)
	if err != nil {
		return glimpse, err
	}
	defer p.leave(j)
	if !p.take(step) { // another request folds
		glimpse.Reached = j.reached.Load()
		return glimpse, ctx.Err()
	}
	defer func() { <-p.turn }()
	arrived, err := j.advance(step, revision)
	if err != nil && !(step.Err() != nil && ctx.Err() == nil && !Damaged(err)) {
		p.forget(j)
		return glimpse, err
	}
	if glimpse.Reached = j.reached.Load(); !arrived {
		return glimpse, nil
	}
	then, err := j.look(ctx, revision)
	if err != nil {
		p.forget(j)
		return glimpse, err
	}
	glimpse.Reached, glimpse.Then = max(glimpse.Reached, revision), then
	return glimpse, nil
}

// take waits for the turn, and reports whether it was free before ctx ended.
func (p *Past) take(ctx context.Context) bool {
	select {
	case p.turn <- struct{}{}:
		return true
	default:
	}
	select {
	case p.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// fold finds the fold of the workflow, or begins it. The least recently used fold is dropped for it.
func (p *Past) fold(name eventlog.WorkflowName) (*pastFold, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errPastClosed
	}
	for i, j := range p.folds {
		if j.name == name {
			copy(p.folds[1:i+1], p.folds[:i])
			p.folds[0] = j
			j.users++
			return j, nil
		}
	}
	j, err := p.begin(name)
	if err != nil {
		return nil, err
	}
	p.folds = append([]*pastFold{j}, p.folds...)
	for len(p.folds) > foldsKept {
		last := p.folds[len(p.folds)-1]
		p.folds = p.folds[:len(p.folds)-1]
		p.drop(last)
	}
	return j, nil
}

// begin opens the fold of the workflow. The caller holds mu.
func (p *Past) begin(name eventlog.WorkflowName) (*pastFold, error) {
	j, err := newPastFold(p.cfg.Log, p.cfg.Dir, p.cfg.stride, name)
	if err != nil {
		return nil, err
	}
	j.users = 1
	j.idle = time.AfterFunc(p.cfg.Idle, func() { p.forget(j) })
	return j, nil
}

// leave notes that a request is done with the fold.
func (p *Past) leave(j *pastFold) {
	p.mu.Lock()
	defer p.mu.Unlock()
	j.idle.Reset(p.cfg.Idle)
	if j.users--; j.users == 0 && j.dropped {
		go p.end(j)
	}
}

// forget drops the fold, so that the next request begins a new one.
func (p *Past) forget(j *pastFold) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.folds {
		if other == j {
			p.folds = append(p.folds[:i:i], p.folds[i+1:]...)
			p.drop(j)
			return
		}
	}
}

// drop ends a fold that is no longer listed, once no request uses it. The caller holds mu.
func (p *Past) drop(j *pastFold) {
	if j.dropped = true; j.users == 0 {
		go p.end(j)
	}
}

func (p *Past) end(j *pastFold) {
	j.idle.Stop()
	if err := j.close(); err != nil {
		p.cfg.Logger.Warn("a fold of the past was not thrown away", "workflow", string(j.name), "error", err)
	}
}

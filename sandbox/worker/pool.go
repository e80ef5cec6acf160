package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// Config configures worker processes.
type Config struct {
	// Command makes the command of a worker: a program that calls Run with its standard input
	// and output. Its streams and process attributes are overwritten. nil re-executes this program
	// with the one argument `worker`.
	Command func() *exec.Cmd
	// Size is how many scripts may compute at once; 0 means GOMAXPROCS + 1. Scripts that compute long
	// leave one of these slots to others, if there are two. A call that waits for a connector's
	// read does not compute.
	Size int
	// MaxWorkers bounds the processes, with those whose calls wait for reads; 0 means 8 × Size. Size of
	// them, at most half, are not for workflows that wait long.
	MaxWorkers int
	// Memory is what one worker process may use, in bytes; 0 means sandbox.DefaultMemory, less than sandbox.MinMemory
	// is an error.
	Memory int64
	// Limits are those of Describe; what is left zero is taken from DefaultLimits.
	Limits sandbox.Limits
	// Require refuses workers that are confined less; empty requires nothing.
	Require confine.Level
	// Logger hears of workers that ended; nil discards.
	Logger *slog.Logger
}

// Pool runs scripts in worker processes.
type Pool struct {
	config Config
	limits sandbox.Limits
	spawns chan func() // to the goroutine whose thread the workers live with
	closed chan struct{}
	ending sync.WaitGroup // processes that are not gone

	mu        sync.Mutex
	scheduler *scheduler
	idle      []*process // the most recently used last
	all       []*process
	starting  int
	warming   int // of starting: no call waits for these: they are ready for the next one
	report    confine.Report
	restarts  uint64
	deaths    map[string]uint64 // by code
	ids       map[sandbox.Source]uint64
	lastID    uint64
	serial    uint64
	shut      bool
	reaping   bool
	busy      map[*process]*conversation
}

var _ sandbox.Executor = (*Pool)(nil)

// NewPool starts worker processes. It fails if the first of them does not come up or is confined
// less than required.
func NewPool(config Config) (*Pool, error) {
	if config.Size <= 0 {
		config.Size = runtime.GOMAXPROCS(0) + 1
	}
	if config.MaxWorkers < config.Size {
		config.MaxWorkers = 8 * config.Size
	}
	if config.Memory == 0 {
		config.Memory = sandbox.DefaultMemory
	}
	if config.Memory < sandbox.MinMemory {
		return nil, fmt.Errorf("start worker processes: %d bytes of memory are too few, the least is %d", config.Memory,
			sandbox.MinMemory)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Command == nil {
		config.Command = func() *exec.Cmd { return &exec.Cmd{Path: selfPath, Args: []string{os.Args[0], "worker"}} }
	}
	p := &Pool{
		config: config, limits: config.Limits.Effective(), spawns: make(chan func()), closed: make(chan struct{}),
		scheduler: newScheduler(config.Size, config.MaxWorkers), deaths: make(map[string]uint64),
		ids: make(map[sandbox.Source]uint64), busy: make(map[*process]*conversation),
	}
	go p.spawner()
	first, err := p.start()
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.mu.Lock()
	p.report = first.ready.report
	p.idle = append(p.idle, first)
	p.mu.Unlock()
	level := slog.LevelInfo
	if p.report.Level != confine.Full {
		level = slog.LevelWarn
	}
	config.Logger.Log(context.Background(), level, "scripts run in worker processes", "sandbox", p.report.String(),
		"workers", config.Size, "memory", config.Memory)
	p.warm()
	return p, nil
}

// spawner starts processes, all from one thread: they die with it, and it ends with the pool.
func (p *Pool) spawner() {
	runtime.LockOSThread()
	for {
		select {
		case spawn := <-p.spawns:
			spawn()
		case <-p.closed:
			return
		}
	}
}

// start starts one worker, greets it and books it as one of the pool's.
func (p *Pool) start() (*process, error) {
	cmd := p.config.Command()
	cmd.SysProcAttr = attributes()
	var started *process
	var err error
	done := make(chan struct{})
	spawn := func() {
		defer close(done)
		started, err = startProcess(cmd)
	}
	select {
	case p.spawns <- spawn:
		<-done
	case <-p.closed:
		return nil, errPoolClosed
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	shut := p.shut
	if !shut {
		p.all = append(p.all, started)
		p.ending.Add(1) // under the lock: Close waits only once nothing is added any more
	}
	p.mu.Unlock()
	if shut {
		started.End()
		return nil, errPoolClosed
	}
	go func() {
		<-started.Exited
		p.gone(started)
		p.ending.Done()
	}()
	if err := started.greet(hello{version: frameVersion, memory: p.config.Memory, scripts: maxLoaded,
		describe: p.limits}); err != nil {
		return nil, err
	}
	if r := started.ready.report; p.config.Require != "" && !r.Level.AtLeast(p.config.Require) {
		started.End()
		return nil, fmt.Errorf("the sandbox of worker processes is %s, and %s is required", r, p.config.Require)
	}
	return started, nil
}

var errPoolClosed = errors.New("the executor was closed")

// gone takes a process that ended out of the pool, and replaces it if it did so while idle.
func (p *Pool) gone(w *process) {
	if !w.retire() {
		return
	}
	p.mu.Lock()
	wasIdle := slices.Contains(p.idle, w)
	p.idle = slices.DeleteFunc(p.idle, func(x *process) bool { return x == w })
	p.all = slices.DeleteFunc(p.all, func(x *process) bool { return x == w })
	shut := p.shut
	if wasIdle && !shut && w.killedFor() == nil {
		p.restarts++
		p.config.Logger.Warn("an idle worker process ended; another takes its place", "pid", w.Cmd.Process.Pid, "ended",
			w.Cmd.ProcessState.String())
	}
	p.mu.Unlock()
	if wasIdle {
		w.End()
	}
	if !shut {
		p.warm()
	}
}

// warm starts workers until so many are ready as may compute at once.
func (p *Pool) warm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.shut && len(p.all)+p.starting < p.config.Size {
		p.starting++
		p.warming++
		go func() {
			w, err := p.start()
			p.mu.Lock()
			p.starting--
			p.warming--
			if err == nil {
				p.idle = append(p.idle, w)
			} else if !p.shut {
				p.config.Logger.Error("a worker process for scripts could not be started; the next call tries again",
					"error", err)
			}
			p.dispatch()
			p.mu.Unlock()
		}()
	}
}

// put gives a process back. The caller locks.
func (p *Pool) put(w *process, now time.Time) {
	delete(p.busy, w)
	if p.shut || !w.alive() || !slices.Contains(p.all, w) {
		go w.End()
		return
	}
	w.used = now
	p.idle = append(p.idle, w)
	if len(p.all) > p.config.Size && !p.reaping {
		p.reaping = true
		time.AfterFunc(keepIdle, p.reap)
	}
}

// keepIdle is how long a worker beyond the pool's size stays without work.
const keepIdle = 30 * time.Second

// reap ends workers that were only needed for a while.
func (p *Pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaping = false
	extra := len(p.all) - p.config.Size
	for extra > 0 && len(p.idle) > 0 && time.Since(p.idle[0].used) >= keepIdle {
		w := p.idle[0]
		p.idle = p.idle[1:]
		p.all = slices.DeleteFunc(p.all, func(x *process) bool { return x == w })
		w.retire()
		go w.End()
		extra--
	}
	if extra > 0 && !p.shut {
		p.reaping = true
		time.AfterFunc(keepIdle, p.reap)
	}
}

// discard ends a process that must not be used again and starts another in its place.
func (p *Pool) discard(w *process, code string) {
	w.retire()
	w.End()
	p.mu.Lock()
	delete(p.busy, w)
	p.all = slices.DeleteFunc(p.all, func(x *process) bool { return x == w })
	if !p.shut {
		p.restarts++
		p.deaths[code]++
	}
	p.mu.Unlock()
	p.warm()
}

// identify numbers a script's text. Numbers are never used again, so what a worker still knows by an
// old one is never taken for something else.
func (p *Pool) identify(source sandbox.Source) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, ok := p.ids[source]
	if !ok {
		if len(p.ids) >= 4096 {
			clear(p.ids)
		}
		p.lastID++
		id = p.lastID
		p.ids[source] = id
	}
	return id
}

// Close ends all workers and waits until they are gone. Calls in flight end with script.cancelled.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		return nil
	}
	p.shut = true
	close(p.closed)
	all := slices.Clone(p.all)
	p.mu.Unlock()
	for _, w := range all {
		w.kill(&sandbox.Error{Fault: sandbox.FaultTransient, Code: "script.cancelled", Message: errPoolClosed.Error()})
	}
	p.ending.Wait()
	return nil
}

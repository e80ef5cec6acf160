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

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// Config configures worker processes.
type Config struct {
	// Command makes the command of a worker: a program that calls Run with its standard input
	// and output. Its streams and process attributes are overwritten. nil re-executes this program
	// with the one argument `worker`.
	Command func() *exec.Cmd
	// Size is how many scripts may compute at once; 0 means GOMAXPROCS + 1. Scripts that compute long leave one of these
	// slots to others, if there are two, for up to 5 s. A call that waits for a connector's read does not compute.
	Size int
	// MaxWorkers bounds the processes, with those whose calls wait for reads; less than Size means 8 × Size. min(Size,
	// MaxWorkers/2) of them are kept for workflows that do not wait long.
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
	idText    int // of the texts in ids, in bytes
	lastID    uint64
	serial    uint64
	shut      bool
	reaping   bool
	busy      map[*process]*exchange
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
		ids: make(map[sandbox.Source]uint64), busy: make(map[*process]*exchange),
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

var errPoolClosed = errors.New("the executor was closed")

// Bounds of the texts that have a number: the pool keeps them in memory, also those of versions that nobody calls any
// more.
const (
	maxNumbered      = 4096
	maxNumberedBytes = 64 << 20
)

// identify numbers a script's text. Numbers are never used again, so what a worker still knows by an old one is never
// taken for something else. When all numbers have been taken back, a worker may have one text under two numbers: once
// it forgets the old number, a call with the new one compiles the text again.
func (p *Pool) identify(source sandbox.Source) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, ok := p.ids[source]
	if !ok {
		size := len(source.Code) + len(source.Filename)
		if len(p.ids) >= maxNumbered || p.idText+size > maxNumberedBytes {
			clear(p.ids)
			p.idText = 0
		}
		p.idText += size
		p.lastID++
		id = p.lastID
		p.ids[source] = id
	}
	return id
}

// Close ends all workers and waits until they are gone. Calls in flight end with script.cancelled. It always
// returns nil.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		return nil
	}
	p.shut = true
	all := slices.Clone(p.all)
	p.mu.Unlock()
	for _, w := range all {
		w.kill(&sandbox.Error{Fault: sandbox.FaultTransient, Code: "script.cancelled", Message: errPoolClosed.Error()})
	}
	close(p.closed) // only now: the processes die with the spawner's thread, and what killed them must be known before
	p.ending.Wait()
	return nil
}

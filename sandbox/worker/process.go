package worker

import (
	"container/list"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// Bounds of what one worker keeps compiled. Compiled scripts are memory of the worker: many of them
// would count against the script that happens to run.
const (
	maxLoaded      = 512
	maxLoadedBytes = 1 << 20
)

const (
	// startTimeout is how long a worker may take from exec to its first frame.
	startTimeout = 20 * time.Second
	// exitTimeout is how long one may take from the end of its pipe to its own end. A worker that ends is gone much
	// sooner. A script cannot close the pipe and keep its process running; a process that does so is killed after this
	// time.
	exitTimeout = 20 * time.Second
)

// process is a worker process as its engine sees it. At any time it belongs to the pool or to one
// exchange; only kill and the fields marked so may be used by others.
type process struct {
	*confine.Process
	frames *frameReader

	writing sync.Mutex
	pack    *packer

	ready  ready
	loaded loaded // guarded by the pool's lock

	since    time.Time
	starting time.Duration // how long it took until it was ready
	used     time.Time     // last given back
	calls    atomic.Uint64 // for reports
	level    atomic.Value  // confine.Level once it is ready, for reports

	mu      sync.Mutex
	reason  *sandbox.Error // why it was killed, from any goroutine
	retired bool
}

// startProcess starts a worker and waits until it is ready. It must be called by a goroutine that is
// locked to a thread which lives as long as the pool: the worker dies with that thread.
func startProcess(cmd *exec.Cmd) (*process, error) {
	started, err := confine.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &process{Process: started, frames: newFrameReader(started.Out), pack: newPacker(), loaded: newLoaded(),
		since: time.Now()}, nil
}

// handshake tells the worker its limits and waits for its answer.
func (p *process) handshake(h hello) error {
	timeout := time.AfterFunc(startTimeout, func() { p.kill(nil) })
	defer timeout.Stop()
	// A worker that cannot be written to has ended; what it wrote before can still be read.
	_ = p.write(h.pack)
	kind, err := p.frames.next(64 << 10)
	if err != nil {
		return p.startFailed(err)
	}
	p.ready = unpackReady(&p.frames.unpacker)
	if err := p.frames.done(); err != nil || kind != frameReady || p.ready.version != frameVersion {
		return p.startFailed(fmt.Errorf("it answered with kind %d, version %d: %w", kind, p.ready.version,
			errMalformed))
	}
	p.level.Store(p.ready.report.Level)
	return nil
}

// sandbox is the level of confinement, empty while the worker starts.
func (p *process) sandbox() confine.Level {
	level, _ := p.level.Load().(confine.Level)
	return level
}

// startFailed ends a worker that did not become ready and says what it said.
func (p *process) startFailed(err error) error {
	p.End()
	if said := p.Said(); said != "" {
		return fmt.Errorf("start a worker process: %w; it ended with %s and said: %s", err, p.Cmd.ProcessState, said)
	}
	return fmt.Errorf("start a worker process: %w; it ended with %s", err, p.Cmd.ProcessState)
}

// write sends frames, from any goroutine. All that pack packs is one write.
func (p *process) write(pack func(*packer)) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	pack(p.pack)
	return p.pack.flush(p.In)
}

// kill ends the process now; the first reason stays.
func (p *process) kill(reason *sandbox.Error) {
	p.mu.Lock()
	if p.reason == nil {
		p.reason = reason
	}
	p.mu.Unlock()
	p.Kill()
}

func (p *process) killedFor() *sandbox.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// retire reports whether the caller is the first to take the process out of its pool.
func (p *process) retire() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.retired
	p.retired = true
	return first
}

// silent refuses a worker that has said more than its answer: what it said would be read as the answer to the next
// call, which may be another workflow's.
func (p *process) silent() error {
	if n := p.frames.buffered() + unread(p.Out); n > 0 {
		return fmt.Errorf("%w: %d bytes after the answer", errMalformed, n)
	}
	return nil
}

// alive reports whether the process still runs, as far as is known.
func (p *process) alive() bool {
	select {
	case <-p.Exited:
		return false
	default:
		return true
	}
}

// gone reports whether the process has ended, also where that was not yet taken note of.
func (p *process) gone() bool { return !p.alive() || ended(p.Cmd.Process.Pid) }

// loaded is what one worker has compiled. The pool's lock guards it.
type loaded struct {
	scripts map[uint64]*list.Element
	recent  *list.List // of *loadedScript, the most recently used first
	size    int        // of the texts, in bytes
}

// loadedScript is one of these. id and size never change; places belongs to the exchange that uses the process.
type loadedScript struct {
	id   uint64
	size int
	// places are where its handlers are written, as far as the worker has said.
	places map[sandbox.HandlerKey]sandbox.Place
}

func newLoaded() loaded { return loaded{scripts: make(map[uint64]*list.Element), recent: list.New()} }

func (l *loaded) has(id uint64) bool { return l.scripts[id] != nil }

// use marks a script as the one used last. It returns what the request says of it: the text, if the worker does not
// have it, and the scripts that the worker must forget to make room.
func (l *loaded) use(id uint64, source *sandbox.Source) (*loadedScript, scriptRef) {
	ref := scriptRef{id: id}
	if known := l.scripts[id]; known != nil {
		l.recent.MoveToFront(known)
		return known.Value.(*loadedScript), ref
	}
	ref.source = source
	script := &loadedScript{id: id, size: len(source.Code) + len(source.Filename),
		places: make(map[sandbox.HandlerKey]sandbox.Place)}
	l.scripts[id] = l.recent.PushFront(script)
	l.size += script.size
	for l.recent.Len() > 1 && (l.recent.Len() > maxLoaded || l.size > maxLoadedBytes) {
		oldest := l.recent.Remove(l.recent.Back()).(*loadedScript)
		delete(l.scripts, oldest.id)
		l.size -= oldest.size
		ref.forget = append(ref.forget, oldest.id)
	}
	return script, ref
}

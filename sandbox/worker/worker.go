package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/cputime"
	"github.com/pawl-run/pawl/sandbox/vm"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// The memory of a worker, as parts of Config.Memory. The watchdog looks at what the Go runtime
// holds and is the first to see a large allocation; the operating system's limit stops what comes
// between two looks; the engine, which sees resident memory from outside, is the last.
const (
	watchdogShare = 0.75
	dataShare     = 1.25
	// leastData is what a Go program needs to get on at all: its heap grows in large steps.
	leastData = 160 << 20
)

// maxFromEngine bounds a frame that an engine sends: a programming mistake, not an attack.
const maxFromEngine = 1 << 30

// Run makes this process a worker of a Pool in its parent: it reads frames from in, runs the
// scripts in them, and writes frames to out. It never gives back what it takes from the process:
// files, sockets, other processes, the environment. It returns when in ends, which it does when the
// parent ends; the process should then end too.
func Run(in io.Reader, out io.Writer) error {
	confine.IgnoreEnd()
	reexecFailed := confine.Reexec()
	if time.Local.String() != "UTC" { // the pool sets TZ=UTC; not every system reads it
		time.Local = time.UTC
	}
	os.Clearenv()
	debug.SetMaxStack(maxWorkerStack)
	debug.SetMaxThreads(maxWorkerThreads)

	w := &worker{in: newFrameReader(in), out: out, pack: newPacker(), sources: make(map[uint64]sandbox.Source),
		ended: make(chan error), placed: make(map[uint64]map[sandbox.HandlerKey]bool)}
	kind, err := w.in.next(maxFromEngine)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the engine's first frame: %w", err)
	}
	if kind != frameHello {
		return fmt.Errorf("the engine's first frame has kind %d", kind)
	}
	h := unpackHello(&w.in.unpacker)
	if err := w.in.done(); err != nil {
		return fmt.Errorf("read the engine's first frame: %w", err)
	}
	if h.version != frameVersion {
		return fmt.Errorf("the engine speaks version %d of the protocol, this worker version %d", h.version,
			frameVersion)
	}
	w.describeLimits = h.describe
	w.around = vm.Surroundings{Closing: context.Background(), Scripts: vm.NewScripts(h.scripts), CPU: cputime.Own()}
	w.watchdog = newWatchdog(int64(float64(h.memory)*watchdogShare), w.takesLong)

	// What is made on first use is made now, while files can still be opened and no call waits.
	if _, _, problems := vm.Prepare(sandbox.Source{Filename: "warm.ts", Code: "export default Pawl.workflow({})"},
		1<<10); sandbox.HasErrors(problems) {
		return fmt.Errorf("compile a first script: %s", problems[0].Message)
	}
	data := max(leastData, int64(float64(h.memory)*dataShare))
	w.watchdog.bound(data)
	report := confine.Apply(confine.Config{Data: data})
	if reexecFailed != nil {
		report.Missing = append(report.Missing, reexecFailed.Error())
	}
	ready{version: frameVersion, report: report, race: confine.Race}.pack(w.pack)
	if err := w.pack.flush(w.out); err != nil {
		return fmt.Errorf("tell the engine that the worker is ready: %w", err)
	}
	go w.serve()
	if err := <-w.ended; !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// worker is the state of a worker process. One goroutine reads frames and runs what they ask for: most scripts end
// sooner than a hand-over would take. A script that takes long, or waits for an answer, gives the reading to another
// goroutine: an answer, a cancellation and the engine's end must be heard while it computes.
type worker struct {
	in      *frameReader              // of the reading goroutine
	sources map[uint64]sandbox.Source // of the reading goroutine
	ended   chan error                // why reading has ended

	running sync.Mutex // one job at a time; guards what follows
	out     io.Writer
	pack    *packer

	around         vm.Surroundings
	describeLimits sandbox.Limits
	watchdog       *watchdog
	// ctx is the context of the jobs. It is replaced only after a cancel, since a new one for each job costs time.
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	current *job
	passed  bool                                   // another goroutine reads while the current job runs
	placed  map[uint64]map[sandbox.HandlerKey]bool // handlers whose place the engine was told, by script
}

// job is one call to run or one script to describe.
type job struct {
	serial  uint64
	script  uint64
	source  sandbox.Source
	call    *sandbox.Invocation // nil to describe
	ctx     context.Context
	cancel  context.CancelFunc
	replies chan<- vm.Reply // once the script has asked for a read
	// prepared is the result of prepare while mutate runs after it, until the engine is told. The worker's mu guards it.
	prepared *sandbox.Result
}

// serve reads frames until the engine is gone or another goroutine does it.
func (w *worker) serve() {
	for {
		j, err := w.hear()
		if err != nil {
			w.ended <- err
			return
		}
		if j != nil && !w.run(j) {
			return
		}
	}
}

// hear reads one frame. It returns what is to be run.
func (w *worker) hear() (*job, error) {
	kind, err := w.in.next(maxFromEngine)
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("read from the engine: %w", err)
	}
	var j *job
	u := &w.in.unpacker
	switch kind {
	case frameCall:
		serial, script, call := unpackCall(u)
		call.Source = w.source(script)
		j = &job{serial: serial, script: script.id, source: call.Source, call: &call}
	case frameDescribe:
		serial, script := uint64(u.num()), unpackScriptRef(u)
		j = &job{serial: serial, source: w.source(script)}
	case frameAnswer:
		w.answer(unpackAnswer(u))
		// The script goes on first. Without this, this goroutine waits for the next frame and still holds its processor.
		// The script then waits until the runtime gives that processor to another thread.
		runtime.Gosched()
	case frameCancel:
		w.cancelJob(uint64(u.num()))
	default:
		return nil, fmt.Errorf("the engine sent a frame of kind %d", kind)
	}
	if err := u.done(); err != nil {
		return nil, fmt.Errorf("read from the engine: %w", err)
	}
	return j, nil
}

// source finds the text of a script, and forgets those the engine will not name again.
func (w *worker) source(ref scriptRef) sandbox.Source {
	for _, id := range ref.forget {
		if s, ok := w.sources[id]; ok {
			w.around.Scripts.Drop(s)
			delete(w.sources, id)
		}
		w.mu.Lock()
		delete(w.placed, id)
		w.mu.Unlock()
	}
	if ref.source != nil {
		w.sources[ref.id] = *ref.source
	}
	return w.sources[ref.id]
}

// answer hands an answer to the script that asked; one of an earlier call is dropped.
func (w *worker) answer(serial uint64, a vm.Reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != nil && w.current.serial == serial && w.current.replies != nil {
		w.current.replies <- a // there is room for every read in flight
	}
}

func (w *worker) cancelJob(serial uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != nil && w.current.serial == serial {
		w.current.cancel()
	}
}

// run runs a job to its end and reports whether the caller still reads.
func (w *worker) run(j *job) bool {
	w.running.Lock()
	defer w.running.Unlock()
	if w.ctx == nil || w.ctx.Err() != nil {
		w.ctx, w.cancel = context.WithCancel(context.Background())
	}
	j.ctx, j.cancel = w.ctx, w.cancel
	w.mu.Lock()
	w.current, w.passed = j, false
	w.mu.Unlock()
	w.watchdog.start()
	if j.call != nil {
		w.invoke(j)
	} else {
		w.describe(j)
	}
	// The answer is sent when all of this is over: with it the engine may send the next job, which is not to pay for
	// this one.
	w.watchdog.Stop()
	if w.watchdog.freeMemory() {
		w.sendRecycle(j.serial)
	}
	w.send()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = nil
	return !w.passed
}

// pass lets another goroutine read while the current job goes on.
func (w *worker) pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != nil && !w.passed {
		w.passed = true
		go w.serve()
	}
}

// takesLong is what the watchdog calls at each look while a job takes long. It tells the engine once that the job is at
// mutate: if this process ends now, the engine knows which handler has ended it.
func (w *worker) takesLong() {
	w.pass()
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.current
	if j == nil || j.prepared == nil {
		return
	}
	var at sandbox.Place
	if script, _ := w.around.Scripts.Get(j.source, j.call.Limits.Effective().Source); script != nil {
		then := j.call.Mutate()
		at = script.HandlerPlace(then.Key())
	}
	pack := newPacker()
	packPrepared(pack, j.serial, j.prepared, at)
	j.prepared = nil
	w.sendPacked(pack)
}

func (w *worker) invoke(j *job) {
	w.place(j)
	result, err := vm.Invoke(j.ctx, w.around, *j.call, &pipeTransport{worker: w, serial: j.serial})
	w.mu.Lock()
	j.prepared = nil // so that takesLong, in the watchdog's goroutine, does not write while this one does
	w.mu.Unlock()
	w.pack.reset() // reads asked for by a script that has ended need no answer
	packResult(w.pack, j.serial, &result, faultOf(err))
}

// faultOf is the fault that an error of a call holds. Any other error is a failure of the executor.
func faultOf(err error) (fault *sandbox.Error) {
	if err == nil || errors.As(err, &fault) {
		return fault
	}
	return sandbox.InternalFault("%v", err)
}

// place tells the engine where a handler is written, once: if this process is ended in it, no other process
// knows.
func (w *worker) place(j *job) {
	key := j.call.Key()
	w.mu.Lock()
	known := w.placed[j.script][key]
	w.mu.Unlock()
	if known {
		return
	}
	script, _ := w.around.Scripts.Get(j.source, j.call.Limits.Effective().Source)
	if script == nil {
		return
	}
	w.pack.reset()
	packPlace(w.pack, j.serial, script.HandlerPlace(key))
	w.send()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.placed[j.script] == nil {
		w.placed[j.script] = make(map[sandbox.HandlerKey]bool)
	}
	w.placed[j.script][key] = true
}

func (w *worker) describe(j *job) {
	definition, problems, err := vm.Describe(j.ctx, w.around, w.describeLimits, j.source)
	var answer described
	if err != nil {
		answer.fault = faultOf(err)
	} else if answer.text, err = json.Marshal(describedText{definition, problems}); err != nil {
		answer.fault = sandbox.InternalFault("write the definition as JSON: %v", err)
	}
	w.pack.reset()
	answer.pack(w.pack, j.serial)
}

// sendRecycle tells the engine, before the answer that is packed, to replace this process.
func (w *worker) sendRecycle(serial uint64) {
	pack := newPacker()
	packRecycle(pack, serial)
	w.sendPacked(pack)
}

func (w *worker) send() { w.sendPacked(w.pack) }

// sendPacked sends what is packed. Without an engine there is nothing left to do in this process.
func (w *worker) sendPacked(pack *packer) {
	if err := pack.flush(w.out); err != nil {
		fmt.Fprintln(os.Stderr, "pawl worker: answer the engine:", err)
		os.Exit(exitNoEngine)
	}
}

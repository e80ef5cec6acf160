package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
)

// pendingRead is a read whose promise the script holds.
type pendingRead struct {
	name   string // ctx.<connector>.<operation>
	op     sandbox.Operation
	params json.RawMessage
	frames []goja.StackFrame // of the call
	// value makes of the host's answer what the script gets.
	value   func(json.RawMessage) (goja.Value, error)
	resolve func(any) error
	started time.Time
}

// Reply is the host's answer, handed from the reading goroutine to the script's.
type Reply struct {
	ID  int
	Raw json.RawMessage
	Err error
	// Took is the host's time alone: the answer may lie waiting while the script computes.
	Took time.Duration
}

// Transport takes reads to the host, and tells it how far the call has come. Its functions are called by the script's
// goroutine.
type Transport interface {
	// Start begins a read, whose answer goes to replies; they have room for it.
	Start(ctx context.Context, id int, op sandbox.Operation, params json.RawMessage, replies chan<- Reply)
	// Waiting tells that nothing goes on before a further answer; so many have been taken so far.
	Waiting(answers int)
	// Prepared tells the result of prepare when mutate is called after it in the same call.
	Prepared(sandbox.Result)
}

// hostTransport asks a host in this process.
type hostTransport struct{ host sandbox.Host }

// Start implements Transport.
func (t hostTransport) Start(ctx context.Context, id int, op sandbox.Operation, params json.RawMessage,
	replies chan<- Reply) {
	go func() { replies <- AskHost(ctx, t.host, id, op, params) }()
}

// Waiting implements Transport.
func (hostTransport) Waiting(int) {}

// Prepared implements Transport.
func (hostTransport) Prepared(sandbox.Result) {}

// reads are the reads of one invocation. Only the script's goroutine touches them; the goroutines
// that wait for the host get what they need as arguments and answer over replies.
type reads struct {
	ctx      context.Context
	cancel   context.CancelFunc
	waiting  []*pendingRead
	inFlight map[int]*pendingRead
	replies  chan Reply
	made     int
	answered int
	spent    time.Duration // by finished reads
}

// read queues a list or get operation and returns its promise.
func (inv *invocation) read(op sandbox.Operation, name string, params json.RawMessage,
	value func(json.RawMessage) (goja.Value, error)) goja.Value {
	p, resolve, _ := inv.rt.NewPromise()
	r := &inv.reads
	if r.replies == nil {
		r.ctx, r.cancel = context.WithCancel(inv.ctx)
		r.inFlight = make(map[int]*pendingRead)
		// Room for every read in flight: none of their goroutines ever blocks on an invocation that
		// has ended.
		r.replies = make(chan Reply, inv.limits.InFlight)
	}
	r.made++
	r.waiting = append(r.waiting, &pendingRead{name: name, op: op, params: params, frames: inv.frames(), value: value,
		resolve: resolve})
	inv.startReads()
	return inv.rt.ToValue(p)
}

// outstanding is how many reads have not been answered.
func (r *reads) outstanding() int { return len(r.waiting) + len(r.inFlight) }

// startReads sends waiting reads while there is room.
func (inv *invocation) startReads() {
	r := &inv.reads
	for len(r.waiting) > 0 && len(r.inFlight) < inv.limits.InFlight {
		read := r.waiting[0]
		r.waiting = r.waiting[1:]
		inv.readID++
		id := inv.readID
		read.started = time.Now()
		r.inFlight[id] = read
		inv.transport.Start(r.ctx, id, read.op, read.params, r.replies)
	}
}

// AskHost asks the host; a panic of the host ends the read, not the process.
func AskHost(ctx context.Context, host sandbox.Host, id int, op sandbox.Operation,
	params json.RawMessage) (answer Reply) {
	start := time.Now()
	answer.ID = id
	defer func() {
		answer.Took = time.Since(start)
		if x := recover(); x != nil {
			failed := sandbox.InternalFault("the host panicked in %s.%s: %v", op.Connector, op.Operation, x)
			failed.Stack = sandbox.Clip(string(debug.Stack()), sandbox.MaxStackText)
			answer.Err = failed
		}
	}()
	answer.Raw, answer.Err = host.Read(ctx, op.Connector, op.Operation, params)
	return answer
}

// readsLeft is how long the reads in flight may go on before their sum passes the limit.
func (inv *invocation) readsLeft() time.Duration {
	left := inv.limits.Reads - inv.reads.spent
	for _, read := range inv.reads.inFlight {
		left -= time.Since(read.started)
	}
	return max(left, 0) / time.Duration(max(len(inv.reads.inFlight), 1))
}

// await waits for one answer with the script's clock standing, and gives it to the script. The
// end of the invocation, or reads that take too long in sum, end the wait.
func (inv *invocation) await() error {
	inv.clock.pause()
	if len(inv.reads.replies) == 0 {
		inv.transport.Waiting(inv.reads.answered)
	}
	timeout := time.NewTimer(inv.readsLeft())
	defer timeout.Stop()
	select {
	case answer := <-inv.reads.replies:
		inv.reads.answered++
		inv.clock.run()
		return inv.deliver(answer)
	case <-inv.outcome.over():
	case <-timeout.C:
		inv.stop(inv.readsTooLong())
	}
	return nil
}

// readsTooLong names one of the reads that were waited for.
func (inv *invocation) readsTooLong() *sandbox.Error {
	e := sandbox.LimitFault("limit.reads", "the reads of this handler call took longer than %s in sum",
		inv.limits.Reads)
	e.Fault = sandbox.FaultTransient
	oldest := 0
	for id := range inv.reads.inFlight {
		if oldest == 0 || id < oldest {
			oldest = id
		}
	}
	if read := inv.reads.inFlight[oldest]; read != nil {
		e.Message += "; waiting for " + read.name
		inv.locate(e, read.frames)
	}
	return e
}

// deliver hands an answer to the script, which runs until it waits again. A failed read is never
// handed to it: it ends the invocation (R7).
func (inv *invocation) deliver(answer Reply) error {
	r := &inv.reads
	read := r.inFlight[answer.ID]
	delete(r.inFlight, answer.ID)
	r.spent += answer.Took
	if inv.ctx.Err() != nil {
		// A host that was cancelled says so in its own words; it is no failure of the read.
		inv.stop(sandbox.Cancelled(inv.ctx, sandbox.CallCancelled))
		return nil
	}
	if answer.Err != nil {
		inv.stop(inv.readFailed(read, answer.Err))
		return nil
	}
	if r.spent > inv.limits.Reads {
		inv.stop(inv.readsTooLong())
		return nil
	}
	if len(answer.Raw) > inv.limits.Argument {
		inv.stop(inv.locate(sandbox.LimitFault("limit.argument", "%s answered with more than %d bytes", read.name,
			inv.limits.Argument), read.frames))
		return nil
	}
	inv.startReads()
	v, err := read.value(answer.Raw)
	if err != nil {
		inv.stop(inv.locate(sandbox.InternalFault("%s answered with text that is not JSON", read.name), read.frames))
		return nil
	}
	return read.resolve(v)
}

// answered is the value of what a connector answers.
func (inv *invocation) answered(raw json.RawMessage) (goja.Value, error) {
	if len(raw) == 0 {
		return goja.Undefined(), nil
	}
	return inv.values.Parse(string(raw))
}

func (inv *invocation) readFailed(read *pendingRead, err error) *sandbox.Error {
	if own := OwnInternal(err); own != nil {
		return inv.locate(own, read.frames)
	}
	return inv.locate(&sandbox.Error{Fault: sandbox.FaultRead, Code: "read.failed",
		Message: fmt.Sprintf("%s failed: %s", read.name, sandbox.Clip(err.Error(), sandbox.MaxMessage)), Cause: err},
		read.frames)
}

// OwnInternal is a host's error that says by itself that the executor or the host is broken.
func OwnInternal(err error) *sandbox.Error {
	var own *sandbox.Error
	if errors.As(err, &own) && own.Fault == sandbox.FaultInternal {
		return own
	}
	return nil
}

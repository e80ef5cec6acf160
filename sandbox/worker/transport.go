package worker

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// pipeTransport takes the reads of one call to the engine's process. They are sent when the script
// waits for the first of them, all at once.
type pipeTransport struct {
	worker *worker
	serial uint64
}

// Start implements vm.Transport.
func (t *pipeTransport) Start(_ context.Context, id int, op sandbox.Operation, params json.RawMessage,
	replies chan<- vm.Reply) {
	w := t.worker
	w.mu.Lock()
	w.current.replies = replies
	w.mu.Unlock()
	readRequest{serial: t.serial, id: id, connector: op.Connector, operation: op.Operation, params: params}.pack(w.pack)
}

// Waiting implements vm.Transport.
func (t *pipeTransport) Waiting(answers int) {
	start := t.worker.pack.begin(frameWaiting)
	t.worker.pack.num(int64(t.serial))
	t.worker.pack.num(int64(answers))
	t.worker.pack.end(start)
	t.worker.send()
	t.worker.pass()
}

// Prepared implements vm.Transport.
func (t *pipeTransport) Prepared(result sandbox.Result) {
	w := t.worker
	w.watchdog.next()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current.prepared = &result
}

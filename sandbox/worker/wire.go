package worker

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// The messages between an engine and a worker process. Everything is packed by hand: a decoder that
// follows the shape of what it reads could be led anywhere by a process that a script has taken over.

// hello is the first message to a worker.
type hello struct {
	version  int64
	memory   int64 // of the process, bytes
	scripts  int   // compiled scripts to keep
	describe sandbox.Limits
}

func (h hello) pack(p *packer) {
	start := p.begin(frameHello)
	p.num(h.version)
	p.num(h.memory)
	p.num(int64(h.scripts))
	packLimits(p, h.describe)
	p.end(start)
}

func unpackHello(u *unpacker) hello {
	return hello{version: u.num(), memory: u.num(), scripts: int(u.num()), describe: unpackLimits(u)}
}

// ready is a worker's answer to hello.
type ready struct {
	version int64
	report  confine.Report
	race    bool
}

func (r ready) pack(p *packer) {
	start := p.begin(frameReady)
	p.num(r.version)
	p.text(string(r.report.Level))
	p.texts(r.report.Missing)
	p.flag(r.race)
	p.end(start)
}

func unpackReady(u *unpacker) ready {
	return ready{version: u.num(), report: confine.Report{Level: confine.Level(u.text()), Missing: u.texts()},
		race: u.flag()}
}

// readRequest is a connector read that a script asks for.
type readRequest struct {
	serial               uint64 // of the call
	id                   int
	connector, operation string
	params               json.RawMessage
}

func (r readRequest) pack(p *packer) {
	start := p.begin(frameRead)
	p.num(int64(r.serial))
	p.num(int64(r.id))
	p.text(r.connector)
	p.text(r.operation)
	p.bytes(r.params)
	p.end(start)
}

func unpackRead(u *unpacker) readRequest {
	return readRequest{serial: uint64(u.num()), id: int(u.num()), connector: u.text(), operation: u.text(),
		params: u.bytes()}
}

// packAnswer packs the host's answer to a read. Of an error only the text crosses; the engine keeps
// the error itself.
func packAnswer(p *packer, serial uint64, a vm.Reply) {
	start := p.begin(frameAnswer)
	p.num(int64(serial))
	p.num(int64(a.ID))
	p.num(int64(a.Took))
	p.bytes(a.Raw)
	p.flag(a.Err != nil)
	if a.Err != nil {
		packError(p, wireErrorOf(a.Err))
	}
	p.end(start)
}

func unpackAnswer(u *unpacker) (serial uint64, a vm.Reply) {
	serial, a = uint64(u.num()), vm.Reply{ID: int(u.num()), Took: time.Duration(u.num()), Raw: u.bytes()}
	if u.flag() {
		e := unpackError(u)
		a.Err = &remoteError{read: a.ID, text: e.Message}
		if e.Fault == sandbox.FaultInternal {
			e.Cause = nil
			a.Err = e
		}
	}
	return serial, a
}

// remoteError stands, inside a worker, for an error that only the engine holds.
type remoteError struct {
	read int
	text string
}

func (e *remoteError) Error() string { return e.text }

// wireErrorOf is the part of a host's error that a worker needs.
func wireErrorOf(err error) *sandbox.Error {
	if own := vm.OwnInternal(err); own != nil {
		return own
	}
	return &sandbox.Error{Fault: sandbox.FaultRead, Code: "read.failed", Message: err.Error()}
}

// packRecycle packs that the process is not to be used after the answer to this call.
func packRecycle(p *packer, serial uint64) {
	start := p.begin(frameRecycle)
	p.num(int64(serial))
	p.end(start)
}

// packPlace packs where the handler of a call is written.
func packPlace(p *packer, serial uint64, at sandbox.Place) {
	start := p.begin(framePlace)
	p.num(int64(serial))
	p.num(int64(at.Line))
	p.num(int64(at.Column))
	p.end(start)
}

func unpackPlace(u *unpacker) (serial uint64, at sandbox.Place) {
	return uint64(u.num()), sandbox.Place{Line: int(u.num()), Column: int(u.num())}
}

func packError(p *packer, e *sandbox.Error) {
	clipped := *e
	clipped.Clip()
	e = &clipped
	p.text(string(e.Fault))
	p.text(e.Code)
	p.text(e.Message)
	p.num(int64(e.Line))
	p.num(int64(e.Column))
	p.text(e.Stack)
	read := 0
	if remote, ok := e.Cause.(*remoteError); ok {
		read = remote.read
	}
	p.num(int64(read))
}

// unpackError reads an error; the cause of a failed read is a remoteError until the engine puts the
// host's own in its place.
func unpackError(u *unpacker) *sandbox.Error {
	e := &sandbox.Error{Fault: sandbox.Fault(u.text()), Code: u.text(), Message: u.text(), Line: int(u.num()),
		Column: int(u.num()), Stack: u.text()}
	if read := int(u.num()); read != 0 {
		e.Cause = &remoteError{read: read, text: e.Message}
	}
	return e
}

// packResult packs how a call ended, and how the mutate after it ended where that was called.
func packResult(p *packer, serial uint64, r *sandbox.Result, fault *sandbox.Error) {
	start := p.begin(frameResult)
	p.num(int64(serial))
	packEnd(p, r, fault)
	p.flag(r.Mutate != nil)
	if r.Mutate != nil {
		packEnd(p, &r.Mutate.Result, r.Mutate.Failure)
	}
	p.end(start)
}

// packPrepared packs the result of prepare while mutate runs after it, and where mutate is written.
func packPrepared(p *packer, serial uint64, r *sandbox.Result, at sandbox.Place) {
	start := p.begin(framePrepared)
	p.num(int64(serial))
	p.num(int64(at.Line))
	p.num(int64(at.Column))
	packEnd(p, r, nil)
	p.end(start)
}

func unpackPrepared(u *unpacker, call *sandbox.Invocation) (serial uint64, at sandbox.Place, r sandbox.Result,
	fault *sandbox.Error) {
	serial, at = uint64(u.num()), sandbox.Place{Line: int(u.num()), Column: int(u.num())}
	r, fault = unpackEnd(u, call)
	return serial, at, r, fault
}

// packEnd packs how one handler ended: both a result and a fault, since logs are kept of a failure.
func packEnd(p *packer, r *sandbox.Result, fault *sandbox.Error) {
	p.flag(fault != nil)
	if fault != nil {
		packError(p, fault)
	}
	p.bytes(r.Value)
	packEach(p, r.Publishes, func(e sandbox.Publish) {
		p.texts(e.Topics)
		p.text(e.MessageID)
		p.text(e.Title)
		p.bytes(e.Payload)
		p.text(e.InputID)
	})
	packEach(p, r.Inputs, func(in sandbox.Input) {
		p.text(in.ID)
		p.text(in.Source)
		p.text(in.Type)
		p.text(in.ExtID)
		p.text(in.Title)
	})
	p.flag(r.Call != nil)
	if r.Call != nil {
		p.text(r.Call.Connector)
		p.text(r.Call.Operation)
		p.bytes(r.Call.Params)
		p.num(int64(r.Call.Oversize))
		p.flag(r.Call.Ask)
	}
	packEach(p, r.Logs, func(l sandbox.LogLine) {
		p.num(l.At.UnixNano())
		p.text(l.Level)
		p.text(l.Text)
		p.num(int64(l.Line))
	})
	p.num(int64(r.Reads))
	p.num(int64(r.Malformed.Line))
	p.num(int64(r.Malformed.Column))
	packEach(p, r.Counts, func(c sandbox.Count) {
		p.num(int64(c.Line))
		p.num(int64(c.Column))
		p.num(int64(c.Runs))
	})
}

// unpackResult reads how a call ended, and how the mutate after it ended.
func unpackResult(u *unpacker, call *sandbox.Invocation) (serial uint64, r sandbox.Result, fault *sandbox.Error) {
	serial = uint64(u.num())
	r, fault = unpackEnd(u, call)
	if u.flag() {
		r.Mutate = &sandbox.MutateResult{}
		r.Mutate.Result, r.Mutate.Failure = unpackEnd(u, call)
	}
	return serial, r, fault
}

// unpackEnd reads how one handler ended, which may list no more than the call allows.
func unpackEnd(u *unpacker, call *sandbox.Invocation) (r sandbox.Result, fault *sandbox.Error) {
	if u.flag() {
		fault = unpackError(u)
	}
	r.Value = u.bytes()
	topic := func() []string { return unpackAtMost(u, len(call.Topics), u.text) }
	most := call.Limits.HostCalls // of events and of inputs: each is one call of ctx
	r.Publishes = unpackAtMost(u, most, func() sandbox.Publish {
		return sandbox.Publish{Topics: topic(), MessageID: u.text(), Title: u.text(), Payload: u.bytes(),
			InputID: u.text()}
	})
	r.Inputs = unpackAtMost(u, most, func() sandbox.Input {
		return sandbox.Input{ID: u.text(), Source: u.text(), Type: u.text(), ExtID: u.text(), Title: u.text()}
	})
	if u.flag() {
		r.Call = &sandbox.MutationCall{Connector: u.text(), Operation: u.text(), Params: u.bytes(),
			Oversize: int(u.num()), Ask: u.flag()}
	}
	r.Logs = unpackAtMost(u, sandbox.MaxLogLines(call.Limits), func() sandbox.LogLine {
		return sandbox.LogLine{At: time.Unix(0, u.num()).UTC(), Level: u.text(), Text: u.text(),
			Line: int(u.num())}
	})
	r.Reads = int(u.num())
	r.Malformed = sandbox.Place{Line: int(u.num()), Column: int(u.num())}
	most = 0
	if call.Source.Counted {
		most = len(call.Source.Code) // each statement takes a byte of the text at least
	}
	r.Counts = unpackAtMost(u, most, func() sandbox.Count {
		return sandbox.Count{Place: sandbox.Place{Line: int(u.num()), Column: int(u.num())}, Runs: int(u.num())}
	})
	return r, fault
}

// described is the answer to a description.
type described struct {
	text  []byte // a describedText
	fault *sandbox.Error
}

// describedText is the JSON of a description.
type describedText struct {
	Definition sandbox.Definition `json:"definition"`
	Problems   []sandbox.Problem  `json:"problems"`
}

func (d described) pack(p *packer, serial uint64) {
	start := p.begin(frameDescribed)
	p.num(int64(serial))
	p.flag(d.fault != nil)
	if d.fault != nil {
		packError(p, d.fault)
	}
	p.bytes(d.text)
	p.end(start)
}

func unpackDescribed(u *unpacker) (serial uint64, d described) {
	serial = uint64(u.num())
	if u.flag() {
		d.fault = unpackError(u)
	}
	d.text = u.bytes()
	return serial, d
}

package worker

import (
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// scriptRef names a script by the number that the pool gave its text; the text goes along only when
// the worker does not have it.
type scriptRef struct {
	id     uint64
	source *sandbox.Source
	forget []uint64 // scripts the worker need not keep
}

func (s scriptRef) pack(p *packer) {
	p.num(int64(s.id))
	p.flag(s.source != nil)
	if s.source != nil {
		p.text(s.source.Filename)
		p.text(s.source.Code)
		p.flag(s.source.Counted)
	}
	packEach(p, s.forget, func(id uint64) { p.num(int64(id)) })
}

func unpackScriptRef(u *unpacker) scriptRef {
	s := scriptRef{id: uint64(u.num())}
	if u.flag() {
		s.source = &sandbox.Source{Filename: u.text(), Code: u.text(), Counted: u.flag()}
	}
	s.forget = unpackEach(u, func() uint64 { return uint64(u.num()) })
	return s
}

func packLimits(p *packer, l sandbox.Limits) {
	for _, n := range []int64{
		int64(l.CPU), int64(l.Wall), int64(l.Reads), int64(l.Source), int64(l.Argument), int64(l.Result),
		int64(l.State), int64(l.Publish), int64(l.HostCalls), int64(l.InFlight), int64(l.Log), int64(l.Stack),
	} {
		p.num(n)
	}
}

func unpackLimits(u *unpacker) sandbox.Limits {
	return sandbox.Limits{
		CPU: time.Duration(u.num()), Wall: time.Duration(u.num()), Reads: time.Duration(u.num()),
		Source: int(u.num()), Argument: int(u.num()), Result: int(u.num()), State: int(u.num()),
		Publish: int(u.num()), HostCalls: int(u.num()), InFlight: int(u.num()), Log: int(u.num()), Stack: int(u.num()),
	}
}

// packCall packs a handler call whose limits are effective.
func packCall(p *packer, serial uint64, script scriptRef, c *sandbox.Invocation) {
	start := p.begin(frameCall)
	p.num(int64(serial))
	script.pack(p)
	p.text(string(c.Phase))
	p.text(c.Handler)
	p.text(c.Workflow)
	p.bytes(c.State)
	p.bytes(c.Prepared)
	p.bytes(c.MutationResult)
	p.list(len(c.Pending))
	for topic, events := range c.Pending {
		p.text(topic)
		packEach(p, events, func(e sandbox.Event) {
			p.text(e.MessageID)
			p.text(e.Topic)
			p.text(e.Title)
			p.bytes(e.Payload)
			p.num(int64(e.Attempt))
			if p.flag(e.LastError != nil); e.LastError != nil {
				p.text(e.LastError.Class)
				p.text(e.LastError.Code)
				p.text(e.LastError.Message)
			}
		})
	}
	p.texts(c.More)
	p.texts(c.Topics)
	packEach(p, c.Operations, func(o sandbox.Operation) {
		p.text(o.Connector)
		p.text(o.Operation)
		p.text(string(o.Kind))
	})
	p.list(len(c.Vars))
	for name, v := range c.Vars {
		p.text(name)
		p.bytes(v)
	}
	p.flag(c.MutateReadsByID)
	p.flag(c.ThenMutate)
	p.flag(!c.Now.IsZero())
	p.num(c.Now.UnixNano())
	p.flag(!c.ScheduledAt.IsZero())
	p.num(c.ScheduledAt.UnixNano())
	p.flag(c.Still)
	p.num(int64(c.Seed))
	packLimits(p, c.Limits)
	p.end(start)
}

func unpackCall(u *unpacker) (serial uint64, script scriptRef, c sandbox.Invocation) {
	serial, script = uint64(u.num()), unpackScriptRef(u)
	c.Phase, c.Handler, c.Workflow = sandbox.Phase(u.text()), u.text(), u.text()
	c.State, c.Prepared, c.MutationResult = u.bytes(), u.bytes(), u.bytes()
	topics := u.list()
	c.Pending = make(map[string][]sandbox.Event, topics)
	for range topics {
		topic := u.text()
		c.Pending[topic] = unpackEach(u, func() sandbox.Event {
			e := sandbox.Event{MessageID: u.text(), Topic: u.text(), Title: u.text(), Payload: u.bytes(),
				Attempt: int(u.num())}
			if u.flag() {
				e.LastError = &sandbox.EventError{Class: u.text(), Code: u.text(), Message: u.text()}
			}
			return e
		})
	}
	c.More = u.texts()
	c.Topics = u.texts()
	c.Operations = unpackEach(u, func() sandbox.Operation {
		return sandbox.Operation{Connector: u.text(), Operation: u.text(), Kind: sandbox.OperationKind(u.text())}
	})
	vars := u.list()
	c.Vars = make(sandbox.Vars, vars)
	for range vars {
		name := u.text()
		c.Vars[name] = u.bytes()
	}
	c.MutateReadsByID, c.ThenMutate = u.flag(), u.flag()
	given, now := u.flag(), u.num()
	if given {
		c.Now = time.Unix(0, now).UTC()
	}
	if given, now = u.flag(), u.num(); given {
		c.ScheduledAt = time.Unix(0, now).UTC()
	}
	c.Still = u.flag()
	c.Seed, c.Limits = uint64(u.num()), unpackLimits(u)
	return serial, script, c
}

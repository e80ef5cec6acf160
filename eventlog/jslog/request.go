package jslog

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// request is one Append on its way.
type request struct {
	ctx       context.Context
	entry     eventlog.Entry
	partition int
	subject   string
	fence     string
	// follows is the sequence of the workflow's last message, as the entry expects it. expects is the one that
	// the server must know as the last: another one only behind records that are lost, see followLost.
	follows, expects uint64
	// followers are the entries of a group after this one, its first. A follower has no fence of its own: it leaves in the
	// batch of the one before it, or by itself, fenced on what that one was acknowledged as.
	followers []*request
	follower  bool
	// uncertain: an attempt was made whose fate is not known. Only an acknowledgement or a
	// refusal by the fence may then decide the append.
	uncertain bool
	done      chan result // buffered: the sender of the answer never waits for the caller
}

type result struct {
	written eventlog.Written
	err     error
}

// refuse is the error for an append that ends without being written by this attempt.
func (r *request) refuse(reason error) error {
	if r.uncertain {
		return fmt.Errorf("%w: %w", eventlog.ErrUnconfirmed, reason)
	}
	return reason
}

// message builds the form of the entry on the wire. What is stored of it is always the same.
func (r *request) message() *nats.Msg {
	m := &nats.Msg{Subject: r.subject, Header: nats.Header{}, Data: r.entry.Stored}
	if !r.follower {
		m.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(r.expects, 10)}
		m.Header[jetstream.ExpectedLastSubjSeqSubjHeader] = []string{r.fence}
	}
	return m
}

// fenceOn fences a follower on the sequence of the entry before it.
func (r *request) fenceOn(seq uint64) {
	r.follower, r.follows, r.expects, r.entry.Expected.Seq = false, seq, seq, seq
}

// messages is how many messages a request is, with its followers.
func (r *request) messages() int { return 1 + len(r.followers) }

// succeed answers that the entry stands at seq, and whether others had written after it by then.
func (r *request) succeed(seq uint64, overtaken bool) {
	r.done <- result{written: eventlog.Written{Head: r.entry.HeadAt(seq), Overtaken: overtaken}}
}

func (r *request) fail(err error) { r.done <- result{err: err} }

// membersOf lists the messages of a group of requests, each before its followers.
func membersOf(group []*request) (members []*request) {
	for _, r := range group {
		members = append(append(members, r), r.followers...)
	}
	return members
}

// leadersOf lists the requests of which membersOf has listed the messages.
func leadersOf(members []*request) []*request {
	return slices.DeleteFunc(slices.Clone(members), func(r *request) bool { return r.follower })
}

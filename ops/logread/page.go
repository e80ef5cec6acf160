package logread

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

const (
	// The most that a page of the log holds.
	pageTransitions = 1000
	pageBytes       = 4 << 20
	// pagePassed is how many transitions that the query does not ask for may be passed over for one page.
	pagePassed = 100_000
)

// Page is a part of the log as one document, for a caller that cannot read a stream.
type Page struct {
	Items []json.RawMessage `json:"items"`
	// Next are the positions at which to go on, in every partition; nil at the end of a log that is not followed.
	Next *string `json:"next"`
	// Reached are the positions at which a page of the newest part of the log begins; older transitions are before
	// them. Nil at the beginning of the log.
	Reached *string `json:"reached,omitempty"`

	at           []uint64 // the next position to read, by partition
	bytes        int
	limit, bound int
	// strict pages hold no transition that exceeds the bound by itself.
	strict bool
}

// Waiter is a caller that reads a page.
type Waiter struct {
	*rpc.Caller
	// Max is how many bytes its answer may have; 0 means any number.
	Max int
	// Leave ends when the interface that answers stops: then the page must not wait any longer.
	Leave context.Context
}

// Page reads from these positions as much as fits into one page. A page that follows the log waits a while at its end
// for more transitions, and may still be empty.
func (r *Reader) Page(ctx context.Context, c Waiter, q *Query, from []uint64) (*Page, error) {
	page := &Page{Items: []json.RawMessage{}, at: slices.Clone(from), limit: pageTransitions, bound: pageBytes}
	if q.Limit > 0 {
		page.limit = min(page.limit, int(q.Limit))
	}
	if c.Max > 0 {
		envelope := len(`{"items":[],"next":"","reached":""}`) + 2*(len(r.Generation)+len("/")+
			len("18446744073709551615:18446744073709551615,")*len(from)) + len("\n")
		page.strict, page.bound = true, min(page.bound, c.Max-envelope)
	}
	ends, err := r.ends(q)
	if err != nil {
		return nil, err
	}
	if q.Tail > 0 && slices.ContainsFunc(from, func(seq uint64) bool { return seq > 1 }) {
		began := string(r.appendPositions(nil, from, 0))
		page.Reached = &began
	}
	more, err := page.fill(q, r.merged(ctx, from, ends, q.Workflow))
	if err == nil && q.Follow && !more && len(page.Items) == 0 {
		err = r.awaitTransition(ctx, c, q, page)
	}
	if err != nil {
		return nil, err
	}
	if more || q.Follow {
		next := string(r.appendPositions(nil, page.at, 0))
		page.Next = &next
	}
	return page, nil
}

// fill adds records and reports whether some are left. An error after the first record is left to the
// next page, which begins with it.
func (p *Page) fill(q *Query, records iter.Seq2[eventlog.Record, error]) (more bool, err error) {
	passed := 0
	for record, err := range records {
		if err == nil && !q.shows(record) {
			p.pass(record)
			if passed++; passed == pagePassed {
				return true, nil
			}
			continue
		}
		if len(p.Items) == p.limit {
			return true, nil
		}
		var item []byte
		if err == nil {
			item, err = json.Marshal(record)
		}
		switch {
		case err != nil && len(p.Items) > 0:
			return true, nil
		case err != nil:
			return false, err
		case p.bytes+len(item) > p.bound && len(p.Items) > 0:
			return true, nil
		case len(item) > p.bound && p.strict:
			after := record.Position
			after.Seq++
			return false, rpc.Problemf(http.StatusRequestEntityTooLarge, "answer.tooLarge",
				"the transition at %s alone has %d bytes, more than one answer can carry here", record.Position, len(item)).
				WithHint(fmt.Sprintf("read it over HTTP (pawl log --url URL), or go on behind it: from %s", after))
		}
		p.Items = append(p.Items, item)
		p.bytes += len(item) + len(",")
		p.pass(record)
	}
	return false, nil
}

// pass makes the next page begin behind the record.
func (p *Page) pass(r eventlog.Record) { p.at[r.Position.Partition] = r.Position.Seq + 1 }

// awaitTransition adds the next transition to an empty page, if there is one in time.
func (r *Reader) awaitTransition(ctx context.Context, c Waiter, q *Query, page *Page) error {
	leave, p := r.Followers.Take(c.Caller)
	if p != nil {
		return p
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, r.KeepAlive)
	defer cancel()
	defer context.AfterFunc(c.Leave, cancel)()
	read, ended := make(chan readRecord), make(chan struct{})
	go func() {
		defer close(ended)
		r.readAll(ctx, q, page.at, read)
	}()
	defer func() { cancel(); <-ended }()
	for {
		select {
		case got := <-read:
			if got.err != nil && ctx.Err() != nil {
				return nil // the error comes from the end of the wait
			}
			if !r.Guard.Open(c.Caller) {
				return revoked()
			}
			if got.foreign(q) {
				page.pass(got.record) // otherwise the next request would read it again
				continue
			}
			_, err := page.fill(q, func(yield func(eventlog.Record, error) bool) { yield(got.record, got.err) })
			return err
		case <-ended:
			return nil
		}
	}
}

// revoked is the problem for a request whose token was revoked while it waited.
func revoked() *rpc.Problem {
	return rpc.Problemf(http.StatusUnauthorized, "token.required",
		"the token was revoked meanwhile").WithHint("ask for a new one: pawl tokens create")
}

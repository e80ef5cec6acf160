package imap

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/pawl-run/pawl/engine/connector"
)

// How many bytes a server may send in answer to a command, and between two commands.
const (
	answerRoom = 64 << 10
	// mailRoom bounds what comes for each mail besides its content: its number, its flags and the like.
	mailRoom = 4 << 10
	// mailLists bounds the lists that come for each mail.
	mailLists = 4
	// numberRoom bounds what comes for each mail that is found.
	numberRoom = 11
)

// window is how many mails are searched at once. For numbers out of order, the time that the library takes grows with
// the square of their count.
const window = 20_000

// session is one connection to the server, logged in. It belongs to one call at a time.
//
// It asks in four ways only, none of which changes anything: EXAMINE, UID SEARCH, UID FETCH of what has no content, and
// UID FETCH of content by BODY.PEEK, which leaves \Seen as it is.
type session struct {
	line   *line
	client *imapclient.Client
	// removed counts the mails that the server has said to be removed: those behind them move up.
	removed atomic.Int64
	// idle is since when it waits for another call.
	idle time.Time
}

// stuckAfter is how long the library has to notice that a connection is closed.
const stuckAfter = 5 * time.Second

// within asks on a session until ctx ends. Then the connection is closed, which ends everything that the library does.
func within[T any](ctx context.Context, s *session, ask func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := ask()
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
	case <-s.client.Closed():
	}
	s.line.seal()
	stuck := time.NewTimer(stuckAfter)
	defer stuck.Stop()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-stuck.C:
		var none T
		return none, errSealed
	}
}

// examine opens a mailbox for reading, and returns how many mails are in it and the number of its numbering.
func (s *session) examine(ctx context.Context, mailbox string) (mails, validity uint32, err error) {
	s.line.allow(answerRoom, 0)
	s.removed.Store(0)
	data, err := within(ctx, s, func() (*imap.SelectData, error) {
		return s.client.Select(mailbox, &imap.SelectOptions{ReadOnly: true}).Wait()
	})
	if err != nil {
		return 0, 0, s.why(err)
	}
	return data.NumMessages, data.UIDValidity, nil
}

// search finds the first numbers, at most so many, of the mails behind one that have come on a day or later. mails is
// how many there were when the mailbox was opened.
func (s *session) search(ctx context.Context, mails uint32, behind imap.UID, since time.Time,
	most int) (numbers []imap.UID, err error) {
	for from := int64(1); from <= int64(mails) && len(numbers) < most; from += window {
		criteria := &imap.SearchCriteria{UID: []imap.UIDSet{{{Start: behind + 1}}}, Since: since}
		if mails > window {
			// Mails that were removed meanwhile may have moved those of this window up, by so many at most.
			removed := s.removed.Load()
			begin, end := max(1, from-removed), min(from+window-1, int64(mails)-removed)
			if begin > end {
				break
			}
			criteria.SeqNum = []imap.SeqSet{{{Start: uint32(begin), Stop: uint32(end)}}}
		}
		s.line.allow(answerRoom+numberRoom*min(int64(mails), 2*window), 0)
		all, err := within(ctx, s, func() (imap.NumSet, error) {
			found, err := s.client.UIDSearch(criteria, nil).Wait()
			return found.All, err
		})
		if err != nil {
			return nil, s.why(err)
		}
		numbers = addNumbers(all, numbers, behind, most)
	}
	return numbers, nil
}

// addNumbers adds the numbers of a set that come after the last of some, or after behind, up to a bound. A server
// may name ranges of billions.
func addNumbers(all imap.NumSet, some []imap.UID, behind imap.UID, most int) []imap.UID {
	if len(some) > 0 {
		behind = some[len(some)-1]
	}
	ranges, _ := all.(imap.UIDSet)
	for _, r := range ranges {
		// The mail with the highest number is found whatever was asked for.
		for n := max(r.Start, behind+1); n <= r.Stop && n > behind && len(some) < most; n++ {
			some, behind = append(some, n), n
		}
	}
	return some
}

// end closes the connection, and waits until the library has noticed it.
func (s *session) end() {
	s.line.seal()
	stuck := time.NewTimer(stuckAfter)
	defer stuck.Stop()
	select {
	case <-s.client.Closed():
	case <-stuck.C:
	}
}

// why is the error that ended a question. The line below may know it better than the library.
func (s *session) why(err error) error {
	if ended := s.line.ended(); ended != nil {
		return ended
	}
	return connector.ClosedBy("the server", err)
}

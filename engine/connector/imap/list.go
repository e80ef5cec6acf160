package imap

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/mailparse"
	"github.com/pawl-run/pawl/eventlog"
)

// listed is a mail as list returns it.
type listed struct {
	mailparse.Head
	Flags    []string `json:"flags"`
	Received *string  `json:"received"`
}

type page struct {
	Mails []listed `json:"mails"`
	// Next is the `after` of the next page, null at the end.
	Next *string `json:"next"`
}

// batch is of how many mails the headers are fetched at once: they are in memory until they are read.
const batch = 16

// choice is which mails a page begins with.
type choice struct {
	mailbox string
	after   mailID // the zero value is the beginning
	since   time.Time
	limit   int
}

func choiceOf(call connector.Call) (choice, *eventlog.Failure) {
	p := struct {
		Mailbox string  `json:"mailbox"`
		After   *string `json:"after"`
		Since   string  `json:"since"`
		Limit   int     `json:"limit"`
	}{Mailbox: inbox, Limit: 100}
	failure := connector.DecodeParams(call.Params, &p)
	if failure != nil {
		return choice{}, failure
	}
	chosen := choice{limit: p.Limit}
	if chosen.mailbox, failure = mailboxOf(p.Mailbox); failure != nil {
		return choice{}, failure
	}
	if p.Since != "" {
		var err error
		if chosen.since, err = time.Parse(time.DateOnly, p.Since); err != nil {
			return choice{}, connector.Failf(eventlog.Logic, connector.CodeParams, "since: %q is not a date", p.Since)
		}
	}
	if p.After == nil || *p.After == "" {
		return chosen, nil
	}
	if chosen.after, failure = parseID(*p.After); failure != nil {
		return choice{}, failure
	}
	if chosen.after.mailbox != chosen.mailbox {
		return choice{}, connector.Failf(eventlog.Logic, "imap.id", "after is the id of a mail in %s, and the mailbox is %s",
			eventlog.ClipName(chosen.after.mailbox), eventlog.ClipName(chosen.mailbox))
	}
	return chosen, nil
}

func (c *Connector) list(ctx context.Context, call connector.Call) (any, error) {
	chosen, failure := choiceOf(call)
	if failure != nil {
		return nil, failure
	}
	release, failure := c.pool.enter(ctx, call)
	if failure != nil {
		return nil, failure
	}
	defer release()
	enough := connector.PageTime(ctx)
	var result page
	err := c.pool.use(ctx, func(s *session) (err error) {
		result, err = c.page(ctx, call, s, chosen, enough)
		return err
	})
	return result, err
}

// page reads the mails that were chosen, until there are enough or time is up.
func (c *Connector) page(ctx context.Context, call connector.Call, s *session, chosen choice,
	enough time.Time) (page, error) {
	result := page{Mails: []listed{}}
	mails, validity, err := examined(ctx, s, chosen.mailbox, chosen.after.validity)
	if err != nil || mails == 0 || chosen.after.number == math.MaxUint32 {
		return result, err
	}
	numbers, err := s.search(ctx, mails, chosen.after.number, chosen.since, chosen.limit+1)
	if err != nil || len(numbers) == 0 {
		return result, err
	}
	more := len(numbers) > chosen.limit
	numbers = numbers[:min(len(numbers), chosen.limit)]
	said, err := s.describe(ctx, numbers)
	if err != nil {
		return result, err
	}
	id := func(number imap.UID) mailID { return mailID{validity, number, chosen.mailbox} }
	size := 0
	var done imap.UID
read:
	for some := range slices.Chunk(numbers, batch) {
		heads, err := c.heads(ctx, call, s, some, said, id)
		if err != nil {
			return result, err
		}
		for _, number := range some {
			if head, there := heads[number]; there { // otherwise it was deleted meanwhile
				m := listed{head, said[number].flags, said[number].received}
				encoded, err := json.Marshal(m)
				if err != nil {
					return result, connector.Failf(eventlog.Internal, "imap.io", "cannot describe the mail %s: %v", head.ID, err)
				}
				if size += len(encoded) + 1; size > connector.PageBytes && len(result.Mails) > 0 {
					break read
				}
				result.Mails = append(result.Mails, m)
			}
			done = number
		}
		if time.Now().After(enough) {
			break
		}
	}
	if more || done != numbers[len(numbers)-1] {
		next := id(done).String()
		result.Next = &next
	}
	return result, nil
}

// heads reads the headers of mails, or knows them from an earlier listing.
func (c *Connector) heads(ctx context.Context, call connector.Call, s *session, numbers []imap.UID,
	said map[imap.UID]about, id func(imap.UID) mailID) (map[imap.UID]mailparse.Head, error) {
	heads := make(map[imap.UID]mailparse.Head, len(numbers))
	var unknown []imap.UID
	for _, number := range numbers {
		if _, there := said[number]; !there {
			continue
		}
		head, known := c.known.Get(id(number).String(), struct{}{})
		if !known {
			unknown = append(unknown, number)
			continue
		}
		heads[number] = head
	}
	if len(unknown) == 0 {
		return heads, nil
	}
	contents, err := s.heads(ctx, unknown)
	if err != nil {
		return nil, err
	}
	if err := c.deleted(ctx, s, unknown, contents, id); err != nil {
		return nil, err
	}
	for number, content := range contents {
		m, err := c.parser.Headers(ctx, mailparse.Source{Content: bytes.NewReader(content), Size: int64(len(content))}, nil)
		if err != nil {
			return nil, notParsed(ctx, call, id(number), err)
		}
		head := m.Head
		head.ID, head.Size = id(number).String(), said[number].size
		if head.Size > mailparse.MaxSize {
			head.Spoil("the mail has more than %d bytes", mailparse.MaxSize)
		}
		c.known.Put(head.ID, struct{}{}, head)
		heads[number] = head
	}
	return heads, nil
}

// deleted asks again about mails whose headers did not come. Those that were deleted meanwhile are left out of the
// page. One that is still there must not be: the next page begins behind it.
func (c *Connector) deleted(ctx context.Context, s *session, asked []imap.UID, came map[imap.UID][]byte,
	id func(imap.UID) mailID) error {
	missing := slices.DeleteFunc(slices.Clone(asked), func(number imap.UID) bool { return came[number] != nil })
	if len(missing) == 0 {
		return nil
	}
	said, err := s.describe(ctx, missing)
	if err != nil {
		return err
	}
	for _, number := range missing {
		if _, there := said[number]; there {
			return connector.Failf(eventlog.Transient, "imap.answer", "the mail server %s: it did not send the headers of "+
				"the mail %s, which it has", c.pool.server.address, id(number))
		}
	}
	return nil
}

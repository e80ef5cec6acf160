package imap

import (
	"bytes"
	"context"
	"errors"

	"github.com/emersion/go-imap/v2"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/mailparse"
	"github.com/pawl-run/pawl/eventlog"
)

// got is a mail as get returns it.
type got struct {
	mailparse.Mail
	Flags    []string `json:"flags"`
	Received *string  `json:"received"`
}

func (c *Connector) get(ctx context.Context, call connector.Call) (any, error) {
	var p struct {
		ID      string   `json:"id"`
		Headers []string `json:"headers"`
	}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return nil, failure
	}
	id, failure := parseID(p.ID)
	if failure != nil {
		return nil, failure
	}
	release, failure := c.pool.enter(ctx, call)
	if failure != nil {
		return nil, failure
	}
	defer release()
	var said about
	var content []byte
	over := false
	err := c.pool.use(ctx, func(s *session) (err error) {
		if said, err = c.described(ctx, s, id); err != nil {
			return err
		}
		if over = said.size > mailparse.MaxSize; over {
			return nil
		}
		content, err = c.whole(ctx, s, id)
		return err
	})
	if errors.Is(err, errLonger) { // than the server has said
		over, err = true, nil
	}
	if err == nil && over {
		content, err = c.head(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	source := mailparse.Source{Content: bytes.NewReader(content), Size: int64(len(content))}
	var m mailparse.Mail
	if over {
		m, err = c.parser.Headers(ctx, source, p.Headers)
		m.Spoil("the mail has more than %d bytes", mailparse.MaxSize)
		m.Size = max(said.size, mailparse.MaxSize+1)
	} else {
		m, err = c.parser.Parse(ctx, source, p.Headers)
	}
	if err != nil {
		return nil, notParsed(ctx, call, id, err)
	}
	m.ID = id.String()
	return got{m, said.flags, said.received}, nil
}

// described opens the mailbox of a mail, and asks about the mail.
func (c *Connector) described(ctx context.Context, s *session, id mailID) (about, error) {
	if _, _, err := examined(ctx, s, id.mailbox, id.validity); err != nil {
		return about{}, err
	}
	all, err := s.describe(ctx, []imap.UID{id.number})
	if err != nil {
		return about{}, err
	}
	said, there := all[id.number]
	if !there {
		return about{}, gone(id)
	}
	return said, nil
}

// whole fetches a mail, whose mailbox is open.
func (c *Connector) whole(ctx context.Context, s *session, id mailID) ([]byte, error) {
	content, there, err := s.whole(ctx, id.number)
	if err == nil && !there {
		return nil, gone(id)
	}
	return content, err
}

// head fetches the headers of a mail that is too big.
func (c *Connector) head(ctx context.Context, id mailID) (content []byte, err error) {
	err = c.pool.use(ctx, func(s *session) error {
		if _, _, err := examined(ctx, s, id.mailbox, id.validity); err != nil {
			return err
		}
		heads, err := s.heads(ctx, []imap.UID{id.number})
		if err != nil {
			return err
		}
		there := false
		if content, there = heads[id.number]; !there {
			return gone(id)
		}
		return nil
	})
	return content, err
}

func gone(id mailID) error {
	return connector.Failf(eventlog.Precondition, "imap.missing", "there is no mail %q (any more)", id)
}

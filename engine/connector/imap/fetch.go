package imap

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/pawl-run/pawl/engine/connector/mailparse"
)

// maxHead is how many bytes of a mail's headers are fetched, as much as mailparse keeps of them. One more says that
// they are longer.
const maxHead = 256 << 10

// maxFlags is the most flags of a mail that are returned, maxFlag the most bytes of one.
const (
	maxFlags = 50
	maxFlag  = 100
)

// about is what a server says of a mail, besides its content.
type about struct {
	number imap.UID
	// size is what the server says: the content may be longer or shorter.
	size     int64
	flags    []string
	received *string
}

// errLonger is a mail that has more bytes than were asked for.
var errLonger = errors.New("the mail is longer than what was asked for")

// describe asks about mails. One that is gone is not in the answer.
func (s *session) describe(ctx context.Context, numbers []imap.UID) (map[imap.UID]about, error) {
	s.line.allow(answerRoom+int64(len(numbers))*mailRoom, int64(len(numbers))*mailLists)
	all := make(map[imap.UID]about)
	err := s.fetch(ctx, numbers, &imap.FetchOptions{UID: true, Flags: true, InternalDate: true, RFC822Size: true}, 0,
		func(a about, _ []byte) { all[a.number] = a })
	return all, err
}

// heads fetches the headers of mails.
func (s *session) heads(ctx context.Context, numbers []imap.UID) (map[imap.UID][]byte, error) {
	s.line.allow(answerRoom+int64(len(numbers))*(maxHead+mailRoom), int64(len(numbers))*mailLists)
	all := make(map[imap.UID][]byte)
	err := s.fetch(ctx, numbers, &imap.FetchOptions{UID: true, BodySection: []*imap.FetchItemBodySection{{
		Specifier: imap.PartSpecifierHeader, Peek: true, Partial: &imap.SectionPartial{Size: maxHead + 1},
	}}}, maxHead+1, func(a about, content []byte) { all[a.number] = content })
	return all, err
}

// whole fetches a mail of at most mailparse.MaxSize bytes. there is false if it is gone.
func (s *session) whole(ctx context.Context, number imap.UID) (content []byte, there bool, err error) {
	s.line.allow(answerRoom+mailparse.MaxSize, mailLists)
	err = s.fetch(ctx, []imap.UID{number}, &imap.FetchOptions{UID: true, BodySection: []*imap.FetchItemBodySection{
		{Peek: true}}}, mailparse.MaxSize, func(_ about, text []byte) { content, there = text, true })
	return content, there, err
}

// fetch asks for mails, and hands over each that comes, with at most so many bytes of its content.
func (s *session) fetch(ctx context.Context, numbers []imap.UID, options *imap.FetchOptions, most int64,
	take func(about, []byte)) error {
	type mail struct {
		about
		content []byte
	}
	mails, err := within(ctx, s, func() (mails []mail, err error) {
		asked := s.client.Fetch(imap.UIDSetNum(numbers...), options)
		for data := asked.Next(); data != nil; data = asked.Next() {
			m := mail{about: about{flags: []string{}}}
			for item := data.Next(); item != nil; item = data.Next() {
				switch item := item.(type) {
				case imapclient.FetchItemDataUID:
					m.number = item.UID
				case imapclient.FetchItemDataRFC822Size:
					m.size = item.Size
				case imapclient.FetchItemDataFlags:
					m.flags = flagsOf(item.Flags)
				case imapclient.FetchItemDataInternalDate:
					text := item.Time.Format(time.RFC3339)
					m.received = &text
				case imapclient.FetchItemDataBodySection:
					m.content, err = s.read(item.Literal, most)
					switch {
					case errors.Is(err, errLonger):
						s.line.seal() // there is no other way not to be sent the rest
						return nil, errors.Join(err, asked.Close())
					case err != nil:
						// The library reads on behind the content, and must not be asked for what is left of it at the same
						// time. It notices by itself that the connection is lost.
						s.line.seal()
						return nil, err
					}
				}
			}
			mails = append(mails, m)
		}
		return mails, asked.Close()
	})
	if errors.Is(err, errLonger) {
		return errLonger
	}
	if err != nil {
		return s.why(err)
	}
	for _, m := range mails {
		take(m.about, m.content)
	}
	return nil
}

// read reads a literal of at most so many bytes.
func (s *session) read(literal imap.LiteralReader, most int64) ([]byte, error) {
	if literal == nil {
		return []byte{}, nil
	}
	if literal.Size() > most {
		return nil, errLonger
	}
	content := make([]byte, 0, literal.Size())
	piece := make([]byte, lookahead)
	for {
		n, err := literal.Read(piece)
		s.line.content(piece[:n])
		content = append(content, piece[:n]...)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case err == nil:
			continue
		case int64(len(content)) < literal.Size():
			return nil, io.ErrUnexpectedEOF
		}
		return content, nil
	}
}

// flagsOf are the flags of a mail but \Recent, which says something of the connection and not of the mail.
func flagsOf(flags []imap.Flag) []string {
	kept := []string{}
	for _, flag := range flags {
		text := strings.ToValidUTF8(string(flag), "\uFFFD")
		if len(kept) < maxFlags && len(text) <= maxFlag && !strings.EqualFold(text, `\Recent`) {
			kept = append(kept, text)
		}
	}
	slices.Sort(kept) // servers have no order of them
	return kept
}

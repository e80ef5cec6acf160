package smtp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/mail"
	"strings"
	"time"

	message "github.com/emersion/go-message/mail"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// maxMessage is the most bytes of a mail as it is sent, attachments included.
	maxMessage = 8 << 20
	// maxLine is the most bytes of a line of it, its end not counted (RFC 5322 §2.1.1).
	maxLine = 998
)

// finished is a mail as it goes over the wire.
type finished struct {
	from       string
	recipients []string
	// id is its Message-ID, without angle brackets.
	id   string
	body []byte
}

// compose writes the mail of a call. A failure is definite: nothing has been sent.
func (s *server) compose(call connector.Call) (finished, *eventlog.Failure) {
	l, failure := s.parse(call)
	if failure != nil {
		return finished{}, failure
	}
	m := finished{from: l.from.Address, recipients: l.recipients(), id: idOf(call.Key, l.from.Address)}
	var out bytes.Buffer
	if err := l.write(&out, m.id, call.StartedAt); err != nil {
		return finished{}, refuse("message", "the mail cannot be written: %v", err)
	}
	if out.Len() > maxMessage {
		return finished{}, refuse("tooBig", "the mail has %d bytes, the limit is %d", out.Len(), maxMessage)
	}
	if err := checkLines(out.Bytes()); err != nil {
		return finished{}, connector.Failf(eventlog.Internal, "smtp.message", "the mail is not sent, since %v", err)
	}
	m.body = out.Bytes()
	return m, nil
}

// idOf is the Message-ID of the mail of the call with this key: no other call has it, and this one always the same.
func idOf(key, from string) string {
	sum := sha256.Sum256([]byte(key))
	return "pawl-" + hex.EncodeToString(sum[:16]) + from[strings.LastIndexByte(from, '@'):]
}

// write writes the mail. Recipients in bcc appear in no header.
func (l letter) write(out io.Writer, id string, date time.Time) error {
	var h message.Header
	for i := len(l.headers) - 1; i >= 0; i-- { // they come out in the opposite order
		h.SetText(l.headers[i].name, l.headers[i].value)
	}
	if !h.Has("Auto-Submitted") {
		h.Set("Auto-Submitted", "auto-generated") // no mail program answers that its owner is on holiday
	}
	if l.inReplyTo != "" {
		h.Set("References", "<"+l.inReplyTo+">")
		h.Set("In-Reply-To", "<"+l.inReplyTo+">")
	}
	h.SetSubject(l.subject)
	if l.replyTo != nil {
		h.SetAddressList("Reply-To", pointers([]mail.Address{*l.replyTo}))
	}
	h.SetAddressList("Cc", pointers(l.cc))
	h.SetAddressList("To", pointers(l.to))
	h.SetAddressList("From", pointers([]mail.Address{l.from}))
	h.SetDate(date.UTC())
	h.SetMessageID(id)

	switch {
	case len(l.attachments) > 0:
		w, err := message.CreateWriter(out, h)
		if err != nil {
			return err
		}
		if err := l.writeParts(w); err != nil {
			return err
		}
		return w.Close()
	case l.text != nil && l.html != nil:
		w, err := message.CreateInlineWriter(out, h)
		if err != nil {
			return err
		}
		return l.writeBoth(w)
	default:
		kind, text := l.only()
		h.SetContentType(kind, utf8)
		return put(text)(message.CreateSingleInlineWriter(out, h))
	}
}

var utf8 = map[string]string{"charset": "utf-8"}

// only is the one text of a mail that does not have two.
func (l letter) only() (kind, text string) {
	if l.html != nil {
		return "text/html", *l.html
	}
	return "text/plain", *l.text
}

func (l letter) writeParts(w *message.Writer) error {
	if l.text != nil && l.html != nil {
		both, err := w.CreateInline()
		if err != nil {
			return err
		}
		if err := l.writeBoth(both); err != nil {
			return err
		}
	} else {
		var h message.InlineHeader
		kind, text := l.only()
		h.SetContentType(kind, utf8)
		if err := put(text)(w.CreateSingleInline(h)); err != nil {
			return err
		}
	}
	for _, a := range l.attachments {
		var h message.AttachmentHeader
		h.Set("Content-Type", mime.FormatMediaType(a.contentType, a.params))
		h.SetFilename(a.filename)
		if err := put(string(a.content))(w.CreateAttachment(h)); err != nil {
			return fmt.Errorf("%s: %w", a.filename, err)
		}
	}
	return nil
}

// writeBoth writes the text as plain text and as HTML. Mail programs show the last form that they support.
func (l letter) writeBoth(w *message.InlineWriter) error {
	for _, part := range []struct{ kind, text string }{{"text/plain", *l.text}, {"text/html", *l.html}} {
		var h message.InlineHeader
		h.SetContentType(part.kind, utf8)
		if err := put(part.text)(w.CreatePart(h)); err != nil {
			return err
		}
	}
	return w.Close()
}

// put writes a text to a part that was made for it.
func put(text string) func(io.WriteCloser, error) error {
	return func(part io.WriteCloser, err error) error {
		if err != nil {
			return err
		}
		_, err = io.WriteString(part, text)
		return errors.Join(err, part.Close())
	}
}

func pointers(list []mail.Address) (out []*mail.Address) {
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

// checkLines checks the finished mail: its lines are ASCII, of bounded length and end in CR LF, and each line of its
// header begins a field or continues one. So what a script gives for one part of the mail cannot become another part.
func checkLines(mail []byte) error {
	inHeader := true
	for n := 1; len(mail) > 0; n++ {
		line, rest, _ := bytes.Cut(mail, []byte("\r\n"))
		mail = rest
		if len(line) > maxLine {
			return fmt.Errorf("line %d has %d bytes", n, len(line))
		}
		for _, b := range line {
			if b >= 0x7f || b < ' ' && b != '\t' {
				return fmt.Errorf("line %d has the byte %#x", n, b)
			}
		}
		if !inHeader {
			continue
		}
		if len(line) == 0 {
			inHeader = false
			continue
		}
		name, _, isField := bytes.Cut(line, []byte(":"))
		goesOn := line[0] == ' ' || line[0] == '\t'
		switch {
		case goesOn && (n == 1 || len(bytes.TrimSpace(line)) == 0),
			!goesOn && (!isField || len(name) == 0 || bytes.ContainsAny(name, " \t")):
			return fmt.Errorf("line %d is no header", n)
		}
	}
	if inHeader {
		return errors.New("it has no body")
	}
	return nil
}

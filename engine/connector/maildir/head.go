package maildir

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/mail"
	"net/textproto"
	"os"
	"strings"
	"time"

	"github.com/jhillyerd/enmime/v2"
)

const (
	// maxHead is how much of a mail's headers is kept.
	maxHead = 256 << 10
	// maxRawField is how much of one of them is kept, so that one without end leaves room for the others.
	maxRawField = 192 << 10
	// maxHeadScan is how far into a mail its headers may reach.
	maxHeadScan = 4 << 20
	// maxField bounds one header's text, in bytes as JSON.
	maxField = 8 << 10
	// maxAddresses bounds the addresses of one header.
	maxAddresses = 500
	// addressRoom bounds them together, in bytes as JSON.
	addressRoom = 64 << 10
	// maxError bounds what is said about a malformed mail.
	maxError = 300
	// maxExcerpt bounds what is quoted from it.
	maxExcerpt = 60
)

// mailHead is what a mail's headers say.
type mailHead struct {
	ID        string `json:"id"`
	MessageID string `json:"messageId"`
	// From is the sender as shown, `Ann <ann@example.com>`; FromAddress is the bare address.
	From        string   `json:"from"`
	FromAddress string   `json:"fromAddress"`
	To          []string `json:"to"`
	Cc          []string `json:"cc"`
	Subject     string   `json:"subject"`
	// Date is RFC 3339, null if the mail has none that can be read.
	Date *string `json:"date"`
	Size int64   `json:"size"`
	// Truncated: something was longer than what is returned.
	Truncated bool `json:"truncated,omitempty"`
	// Malformed: the mail is not a usable mail; Error says why.
	Malformed bool   `json:"malformed,omitempty"`
	Error     string `json:"error,omitempty"`
}

// spoil marks the mail as malformed; the first reason stays. It may quote the mail.
func (m *mailHead) spoil(reason string) {
	if !m.Malformed {
		m.Malformed, m.Error = true, excerpt(reason, maxError)
	}
}

// field decodes and bounds one header's text. What is cut ends with `…`.
func (m *mailHead) field(raw string) string {
	text, cut := limited(enmime.DecodeRFC2047(raw), maxField)
	if cut {
		m.Truncated = true
		text += "…"
	}
	return text
}

// readHead reads a mail's headers. It never fails: what is wrong is said in the result.
func (c *Connector) readHead(file mailFile) mailHead {
	f, failure := c.dir.OpenRegular(file.path, os.O_RDONLY)
	if failure != nil {
		head := mailHead{ID: file.id, To: []string{}, Cc: []string{}}
		head.spoil(failure.Message)
		return head
	}
	defer f.Close()
	head, _ := parseHead(file.id, f)
	if info, err := f.Stat(); err == nil {
		head.Size = info.Size()
	}
	return head
}

// headBlock reads a mail's headers as far as they are kept, up to the empty line behind them. cut
// says that there was more.
func headBlock(r io.Reader) (block []byte, cut bool, err error) {
	limit := &io.LimitedReader{R: r, N: maxHeadScan}
	in := bufio.NewReader(limit)
	field, lineStart := 0, true
	for {
		piece, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return block, cut, err
		}
		if lineStart {
			if len(bytes.TrimRight(piece, "\r\n")) == 0 {
				return block, cut || (err != nil && limit.N == 0), nil
			}
			if piece[0] != ' ' && piece[0] != '\t' {
				field = 0 // not a continuation
			}
		}
		lineStart = !errors.Is(err, bufio.ErrBufferFull)
		text := bytes.TrimSuffix(piece, []byte("\n"))
		keep := max(0, min(len(text), maxRawField-field, maxHead-len(block)))
		cut = cut || keep < len(text)
		field += keep
		block = append(block, text[:keep]...)
		// A line that was left out leaves no empty line behind: that would end the headers.
		if lineStart && !bytes.HasSuffix(block, []byte("\n")) {
			block = append(bytes.TrimRight(block, "\r"), "\r\n"...)
		}
		switch {
		case errors.Is(err, io.EOF):
			return block, cut || limit.N == 0, nil
		case len(block) >= maxHead:
			return append(block, "\r\n"...), true, nil
		}
	}
}

// ignored takes what enmime says about a header block: what it could not repair shows in the headers.
type ignored struct{}

func (ignored) AddError(string, string, ...any)   {}
func (ignored) AddWarning(string, string, ...any) {}

func parseHead(id string, r io.Reader) (mailHead, textproto.MIMEHeader) {
	head := mailHead{ID: id, To: []string{}, Cc: []string{}}
	block, cut, err := headBlock(r)
	head.Truncated = cut
	var header textproto.MIMEHeader
	if err == nil {
		header, err = enmime.ReadHeader(bufio.NewReader(bytes.NewReader(append(block, "\r\n"...))), ignored{})
	}
	var broken textproto.ProtocolError
	switch {
	case errors.As(err, &broken):
		head.spoil("its headers cannot be read: a line is no header" + beginning(block))
	case err != nil:
		head.spoil("its headers cannot be read: " + err.Error())
	}
	head.MessageID = head.field(strings.Trim(strings.TrimSpace(header.Get("Message-Id")), "<>"))
	head.Subject = head.field(header.Get("Subject"))
	if from := head.addresses(header, "From"); len(from) > 0 {
		head.From = from[0].shown
		head.FromAddress = from[0].bare
	}
	for _, to := range head.addresses(header, "To") {
		head.To = append(head.To, to.shown)
	}
	for _, cc := range head.addresses(header, "Cc") {
		head.Cc = append(head.Cc, cc.shown)
	}
	if date, err := mail.ParseDate(header.Get("Date")); err == nil {
		if text := date.Format(time.RFC3339); date.Year() >= 0 && date.Year() <= 9999 {
			head.Date = &text
		}
	}
	if head.MessageID == "" && head.From == "" && head.Subject == "" && head.Date == nil && len(head.To) == 0 {
		head.spoil("it has none of the headers of a mail (From, To, Subject, Date, Message-ID)" + beginning(block))
	}
	return head, header
}

// beginning shows how a header block begins, so that a person sees what the file is.
func beginning(block []byte) string {
	text := excerpt(string(block), maxExcerpt)
	if text == "" {
		return ""
	}
	return "; it begins with: " + text
}

type address struct{ shown, bare string }

// addresses reads an address header; what cannot be read is given as it stands.
func (m *mailHead) addresses(header textproto.MIMEHeader, name string) []address {
	raw := strings.Join(header.Values(name), ", ")
	if strings.TrimSpace(raw) == "" {
		return nil
	}
	list, err := enmime.ParseAddressList(raw)
	if err != nil || len(list) == 0 {
		text := m.field(raw)
		return []address{{shown: text, bare: text}}
	}
	var out []address
	left := room(addressRoom)
	for _, a := range list {
		shown := a.Address
		if a.Name != "" {
			shown = a.Name + " <" + a.Address + ">"
		}
		if shown = m.field(shown); len(out) == maxAddresses || !left.take(shown) {
			m.Truncated = true
			break
		}
		out = append(out, address{shown: shown, bare: m.field(a.Address)})
	}
	return out
}

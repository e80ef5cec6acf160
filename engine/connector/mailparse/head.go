package mailparse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/mail"
	"net/textproto"
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
)

// field decodes and bounds one header's text. What is cut ends with `…`.
func (h *Head) field(raw string) string {
	text, cut := limited(enmime.DecodeRFC2047(raw), maxField)
	if cut {
		h.Truncated = true
		text += "…"
	}
	return text
}

// headBlock returns a mail's headers as far as they are kept, and what follows the empty line behind
// them. cut says that there was more of the headers.
func headBlock(data []byte) (block, body []byte, cut bool) {
	scan := data[:min(len(data), maxHeadScan)]
	field := 0
	for at := 0; at < len(scan); {
		line, _, terminated := bytes.Cut(scan[at:], []byte("\n"))
		at += len(line)
		if terminated {
			at++
		}
		if len(bytes.TrimRight(line, "\r")) == 0 {
			return block, data[at:], cut
		}
		if line[0] != ' ' && line[0] != '\t' {
			field = 0 // not a continuation
		}
		kept := max(0, min(len(line), maxRawField-field, maxHead-len(block)))
		cut = cut || kept < len(line)
		field += kept
		block = append(block, line[:kept]...)
		// A line that was left out leaves no empty line behind: that would end the headers.
		if !bytes.HasSuffix(block, []byte("\n")) {
			block = append(bytes.TrimRight(block, "\r"), "\r\n"...)
		}
	}
	return block, nil, cut || len(data) > maxHeadScan
}

// ignored takes what enmime says about a header block: what it could not repair shows in the headers.
type ignored struct{}

func (ignored) AddError(string, string, ...any)   {}
func (ignored) AddWarning(string, string, ...any) {}

// readHead reads a mail's headers. It never fails: what is wrong is said in the result.
func readHead(block []byte, cut bool) (Head, textproto.MIMEHeader) {
	head := NewHead("")
	head.Truncated = cut
	in := io.MultiReader(bytes.NewReader(block), strings.NewReader("\r\n"))
	header, err := enmime.ReadHeader(bufio.NewReader(in), ignored{})
	var broken textproto.ProtocolError
	switch {
	case errors.As(err, &broken):
		head.Spoil("its headers cannot be read: a line is no header%s", beginning(block))
	case err != nil:
		head.Spoil("its headers cannot be read: %v", err)
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
		head.Spoil("it has none of the headers of a mail (From, To, Subject, Date, Message-ID)%s", beginning(block))
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
func (h *Head) addresses(header textproto.MIMEHeader, name string) []address {
	raw := strings.Join(header.Values(name), ", ")
	if strings.TrimSpace(raw) == "" {
		return nil
	}
	list, err := enmime.ParseAddressList(raw)
	if err != nil || len(list) == 0 {
		text := h.field(raw)
		return []address{{shown: text, bare: text}}
	}
	var out []address
	left := room(addressRoom)
	for _, a := range list {
		shown := a.Address
		if a.Name != "" {
			shown = a.Name + " <" + a.Address + ">"
		}
		if shown = h.field(shown); len(out) == maxAddresses || !left.take(shown) {
			h.Truncated = true
			break
		}
		out = append(out, address{shown: shown, bare: h.field(a.Address)})
	}
	return out
}

package maildir

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/mail"
	"net/textproto"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jhillyerd/enmime/v2"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// maxHead is how much of a mail is read to list it.
	maxHead = 256 << 10
	// maxMail is the biggest mail that is taken apart.
	maxMail = 32 << 20
	// maxText is how much of a text is returned, in bytes as JSON.
	maxText = 256 << 10
	// maxParts bounds a mail's nested parts: each nesting costs stack and a pass over the mail.
	maxParts = 200
	// maxAttachments bounds how many attachments are described.
	maxAttachments = 200
	// maxField bounds one header's text.
	maxField = 8 << 10
	// maxAddresses bounds the addresses of one header.
	maxAddresses = 500
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
	// Malformed: the mail is not a usable mail; Error says why.
	Malformed bool   `json:"malformed,omitempty"`
	Error     string `json:"error,omitempty"`
}

// mailBody is a whole mail.
type mailBody struct {
	mailHead
	Text        string       `json:"text"`
	HTML        string       `json:"html"`
	Truncated   bool         `json:"truncated,omitempty"`
	Attachments []attachment `json:"attachments"`
	// Headers are those asked for, by lower-case name.
	Headers map[string][]string `json:"headers,omitempty"`
}

type attachment struct {
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	Size        int    `json:"size"`
}

// spoil marks the mail as malformed; the first reason stays.
func (m *mailHead) spoil(reason string) {
	if !m.Malformed {
		m.Malformed, m.Error = true, limited(reason, maxField)
	}
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
	head, _ := parseHead(file.id, io.LimitReader(f, maxHead))
	if info, err := f.Stat(); err == nil {
		head.Size = info.Size()
	}
	return head
}

// problems collects what enmime says about a header block.
type problems struct{ first string }

func (p *problems) AddError(name, format string, args ...any) {
	if p.first == "" {
		p.first = name + ": " + fmt.Sprintf(format, args...)
	}
}

// AddWarning ignores what enmime could repair.
func (*problems) AddWarning(string, string, ...any) {}

func parseHead(id string, r io.Reader) (mailHead, textproto.MIMEHeader) {
	head := mailHead{ID: id, To: []string{}, Cc: []string{}}
	var found problems
	header, err := enmime.ReadHeader(bufio.NewReader(r), &found)
	if err != nil {
		head.spoil("the headers cannot be read: " + err.Error())
	}
	head.MessageID = strings.Trim(strings.TrimSpace(header.Get("Message-Id")), "<>")
	head.MessageID = limited(head.MessageID, maxField)
	head.Subject = field(header, "Subject")
	if from := addresses(header, "From"); len(from) > 0 {
		head.From = from[0].shown
		head.FromAddress = from[0].bare
	}
	for _, to := range addresses(header, "To") {
		head.To = append(head.To, to.shown)
	}
	for _, cc := range addresses(header, "Cc") {
		head.Cc = append(head.Cc, cc.shown)
	}
	if date, err := mail.ParseDate(header.Get("Date")); err == nil {
		if text := date.Format(time.RFC3339); date.Year() >= 0 && date.Year() <= 9999 {
			head.Date = &text
		}
	}
	if head.MessageID == "" && head.From == "" && head.Subject == "" && head.Date == nil && len(head.To) == 0 {
		reason := "it has none of the headers of a mail (From, To, Subject, Date, Message-ID)"
		if found.first != "" {
			reason += "; " + found.first
		}
		head.spoil(reason)
	}
	return head, header
}

func field(header textproto.MIMEHeader, name string) string {
	return limited(enmime.DecodeRFC2047(header.Get(name)), maxField)
}

type address struct{ shown, bare string }

// addresses reads an address header; what cannot be read is given as it stands.
func addresses(header textproto.MIMEHeader, name string) []address {
	raw := strings.Join(header.Values(name), ", ")
	if strings.TrimSpace(raw) == "" {
		return nil
	}
	list, err := enmime.ParseAddressList(raw)
	if err != nil || len(list) == 0 {
		text := limited(enmime.DecodeRFC2047(raw), maxField)
		return []address{{shown: text, bare: text}}
	}
	var out []address
	for _, a := range list[:min(len(list), maxAddresses)] {
		shown := a.Address
		if a.Name != "" {
			shown = a.Name + " <" + a.Address + ">"
		}
		out = append(out, address{shown: limited(shown, maxField), bare: limited(a.Address, maxField)})
	}
	return out
}

var parser = enmime.NewParser(
	enmime.MaxStoredPartErrors(20),
	enmime.SkipMalformedParts(true),
	enmime.SetReadPartErrorPolicy(enmime.AllowCorruptTextPartErrorPolicy),
)

func (c *Connector) get(call connector.Call) (any, *eventlog.Failure) {
	var p struct {
		ID      string   `json:"id"`
		Headers []string `json:"headers"`
	}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return nil, failure
	}
	file, failure := c.find(p.ID)
	if failure != nil {
		return nil, failure
	}
	f, failure := c.dir.OpenRegular(file.path, os.O_RDONLY)
	if failure != nil {
		return nil, failure
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, c.dir.Failure("look at", file.path, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxMail+1))
	if err != nil {
		return nil, c.dir.Failure("read", file.path, err)
	}
	m := parseMail(file.id, data, p.Headers)
	m.Size = info.Size()
	return m, nil
}

// parseMail takes a mail apart. It never fails: what is wrong is said in the result.
func parseMail(id string, data []byte, wanted []string) (m mailBody) {
	head, header := parseHead(id, bytes.NewReader(data[:min(len(data), maxMail)]))
	m = mailBody{mailHead: head, Attachments: []attachment{}}
	for _, name := range wanted {
		var values []string
		for _, value := range header.Values(name) {
			values = append(values, limited(enmime.DecodeRFC2047(value), maxField))
		}
		if len(values) > 0 {
			if m.Headers == nil {
				m.Headers = make(map[string][]string)
			}
			m.Headers[strings.ToLower(name)] = values[:min(len(values), 50)]
		}
	}
	if len(data) > maxMail {
		m.spoil(fmt.Sprintf("the mail has more than %d bytes", maxMail))
		return m
	}
	if parts := bytes.Count(bytes.ToLower(data), []byte("multipart/")); parts > maxParts {
		m.spoil(fmt.Sprintf("the mail has %d nested parts, the limit is %d", parts, maxParts))
		m.Text, m.Truncated = limitedText(bodyOf(data))
		return m
	}
	defer func() {
		// The mail comes from anybody; what breaks the parser is a broken mail.
		if p := recover(); p != nil {
			m.spoil(fmt.Sprintf("the mail cannot be taken apart: %v", p))
		}
	}()
	envelope, err := parser.ReadEnvelope(bytes.NewReader(data))
	if err != nil {
		m.spoil("the mail cannot be taken apart: " + err.Error())
		m.Text, m.Truncated = limitedText(bodyOf(data))
		return m
	}
	for _, problem := range envelope.Errors {
		if problem.Severe {
			m.spoil(problem.Name + ": " + problem.Detail)
		}
	}
	var cutText, cutHTML bool
	m.Text, cutText = limitedText(envelope.Text)
	m.HTML, cutHTML = limitedText(envelope.HTML)
	m.Truncated = cutText || cutHTML
	for _, parts := range [][]*enmime.Part{envelope.Attachments, envelope.Inlines, envelope.OtherParts} {
		for _, part := range parts {
			if len(m.Attachments) == maxAttachments {
				m.Truncated = true
				return m
			}
			m.Attachments = append(m.Attachments, attachment{
				Filename: limited(part.FileName, 1024), ContentType: limited(part.ContentType, 256), Size: len(part.Content),
			})
		}
	}
	return m
}

// bodyOf is what follows the headers, as it stands.
func bodyOf(data []byte) string {
	for _, separator := range []string{"\r\n\r\n", "\n\n"} {
		if _, body, found := bytes.Cut(data, []byte(separator)); found {
			return string(body[:min(len(body), 2*maxText)])
		}
	}
	return ""
}

// limitedText cuts a text so that it has at most maxText bytes when it is written as JSON.
func limitedText(text string) (string, bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	size := 0
	for i, r := range text {
		switch {
		case r < 0x20 || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
			size += 6
		case r == '"' || r == '\\':
			size += 2
		default:
			size += utf8.RuneLen(r)
		}
		if size > maxText {
			return text[:i], true
		}
	}
	return text, false
}

func limited(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

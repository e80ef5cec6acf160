package mailparse

import (
	"bytes"
	"io"
	"net/textproto"
	"strings"

	"github.com/jhillyerd/enmime/v2"
)

// The text of HTML is taken here: that of the library builds a tree.
var parser = enmime.NewParser(
	enmime.MaxStoredPartErrors(20),
	enmime.SkipMalformedParts(true),
	enmime.SetReadPartErrorPolicy(enmime.AllowCorruptTextPartErrorPolicy),
	enmime.DisableTextConversion(true),
)

// parse takes a mail apart. It never fails: what is wrong is said in the result. As soon as the headers are
// read, heard is called with what they say. whole is false if the mail could not be taken apart, or
// exceeds a limit; without it only a part of it is wrong.
func parse(data []byte, wanted []string, heard func(Head)) (m Mail, whole bool) {
	data, over := data[:min(len(data), MaxSize)], len(data) > MaxSize
	m, split := parseHeaders(data, wanted, heard)
	if over {
		m.Spoil("the mail has more than %d bytes", MaxSize)
		return m, false
	}
	if reason := excess(split.header, split.body); reason != "" {
		m.Spoil("%s", reason)
		m.addBody(split.body)
		return m, false
	}
	defer func() {
		// The mail is untrusted; what breaks the library is a broken mail.
		if p := recover(); p != nil {
			m.Spoil("the mail cannot be taken apart: %v", p)
			whole = false
		}
	}()
	envelope, err := parser.ReadEnvelope(io.MultiReader(bytes.NewReader(split.block), strings.NewReader("\r\n"),
		bytes.NewReader(split.body)))
	if err != nil {
		m.Spoil("the mail cannot be taken apart: %v", err)
		m.addBody(split.body)
		return m, false
	}
	whole = m.addTexts(envelope)
	for _, problem := range envelope.Errors {
		if problem.Severe {
			m.Spoil("%s: %s", problem.Name, problem.Detail)
		}
	}
	m.addAttachments(envelope)
	return m, whole
}

// headed is a mail whose headers have been read.
type headed struct {
	header textproto.MIMEHeader
	// block is the headers as they are kept, body what follows them.
	block, body []byte
}

// parseHeaders reads the headers of a mail, and nothing else.
func parseHeaders(data []byte, wanted []string, heard func(Head)) (Mail, headed) {
	block, body, cut := headBlock(data)
	head, header := readHead(block, cut)
	heard(head)
	m := Mail{Head: head, Attachments: []Attachment{}}
	m.addHeaders(header, wanted)
	return m, headed{header, block, body}
}

// addTexts adds the text and the HTML of a mail, the text from the HTML where that is all there is. It
// reports false for HTML that must not be passed on.
func (m *Mail) addTexts(envelope *enmime.Envelope) bool {
	var cutText, cutHTML, cut bool
	m.HTML, cutHTML = limited(envelope.HTML, maxText)
	text, formatting, cut := textOf(envelope.HTML, maxText)
	if envelope.Text != "" {
		text, cut = envelope.Text, false
	}
	m.Text, cutText = limited(text, maxText)
	m.Truncated = m.Truncated || cutText || cutHTML || cut
	if formatting > maxFormatting {
		m.Spoil("its HTML nests more than %d elements that format text: its html is left out", maxFormatting)
		m.HTML = ""
		return false
	}
	return true
}

func (m *Mail) addAttachments(envelope *enmime.Envelope) {
	left := room(attachmentRoom)
	for _, parts := range [][]*enmime.Part{envelope.Attachments, envelope.Inlines, envelope.OtherParts} {
		for _, part := range parts {
			name, cutName := limited(part.FileName, 1024)
			kind, cutKind := limited(part.ContentType, 256)
			if len(m.Attachments) == maxAttachments || !left.take(name) || !left.take(kind) {
				m.Truncated = true
				return
			}
			m.Truncated = m.Truncated || cutName || cutKind
			m.Attachments = append(m.Attachments, Attachment{Filename: name, ContentType: kind,
				Size: len(part.Content)})
		}
	}
}

// addHeaders adds the headers that were asked for.
func (m *Mail) addHeaders(header textproto.MIMEHeader, wanted []string) {
	left := room(headerRoom)
	for _, name := range wanted {
		name = strings.ToLower(name)
		values := header.Values(name)
		if len(values) == 0 || m.Headers[name] != nil {
			continue
		}
		if m.Headers == nil {
			m.Headers = make(map[string][]string)
		}
		m.Headers[name] = []string{}
		for _, value := range values {
			if value = m.field(value); !left.take(value) {
				m.Truncated = true
				break
			}
			m.Headers[name] = append(m.Headers[name], value)
		}
	}
}

// addBody gives the text as it stands, for a mail that cannot be taken apart.
func (m *Mail) addBody(body []byte) {
	text, cut := limited(string(body[:min(len(body), 2*maxText)]), maxText)
	m.Text, m.Truncated = text, m.Truncated || cut
}

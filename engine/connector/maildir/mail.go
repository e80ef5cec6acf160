package maildir

import (
	"bytes"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"strings"

	"github.com/jhillyerd/enmime/v2"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// maxMail is the biggest mail that is taken apart.
	maxMail = 32 << 20
	// maxText is how much of a text is returned, in bytes as JSON.
	maxText = 256 << 10
	// maxParts bounds a mail's nested parts: each nesting costs stack and a pass over the mail.
	maxParts = 200
	// maxAttachments bounds how many attachments are described.
	maxAttachments = 200
	// attachmentRoom bounds what they are called together, in bytes as JSON.
	attachmentRoom = 96 << 10
	// headerRoom bounds the headers that were asked for together, in bytes as JSON.
	headerRoom = 64 << 10
)

// mailBody is a whole mail.
type mailBody struct {
	mailHead
	Text        string       `json:"text"`
	HTML        string       `json:"html"`
	Attachments []attachment `json:"attachments"`
	// Headers are those asked for, by lower-case name.
	Headers map[string][]string `json:"headers,omitempty"`
}

type attachment struct {
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	Size        int    `json:"size"`
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
	m.addHeaders(header, wanted)
	if len(data) > maxMail {
		m.spoil(fmt.Sprintf("the mail has more than %d bytes", maxMail))
		return m
	}
	if parts := bytes.Count(bytes.ToLower(data), []byte("multipart/")); parts > maxParts {
		m.spoil(fmt.Sprintf("the mail has %d nested parts, the limit is %d", parts, maxParts))
		m.addBody(data)
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
		m.addBody(data)
		return m
	}
	for _, problem := range envelope.Errors {
		if problem.Severe {
			m.spoil(problem.Name + ": " + problem.Detail)
		}
	}
	var cutText, cutHTML bool
	m.Text, cutText = limited(envelope.Text, maxText)
	m.HTML, cutHTML = limited(envelope.HTML, maxText)
	m.Truncated = m.Truncated || cutText || cutHTML
	m.addAttachments(envelope)
	return m
}

func (m *mailBody) addAttachments(envelope *enmime.Envelope) {
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
			m.Attachments = append(m.Attachments, attachment{Filename: name, ContentType: kind, Size: len(part.Content)})
		}
	}
}

// addHeaders adds the headers that were asked for.
func (m *mailBody) addHeaders(header textproto.MIMEHeader, wanted []string) {
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
func (m *mailBody) addBody(data []byte) {
	text, cut := limited(bodyOf(data), maxText)
	m.Text, m.Truncated = text, m.Truncated || cut
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

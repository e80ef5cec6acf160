package smtp

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"mime"
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// maxRecipients is how many a mail may have in all: every server takes so many (RFC 5321 §4.5.3.1.8).
const maxRecipients = 100

// maxHeader is the most characters of one header's value.
const maxHeader = 900

const sendSchema = `{
  "type": "object", "additionalProperties": false, "required": ["to", "subject"],
  "properties": {
    "from": {"type": "string", "minLength": 1},
    "to": {"type": ["string", "array"], "items": {"type": "string", "minLength": 1}, "minLength": 1, "minItems": 1},
    "cc": {"type": ["string", "array"], "items": {"type": "string", "minLength": 1}},
    "bcc": {"type": ["string", "array"], "items": {"type": "string", "minLength": 1}},
    "replyTo": {"type": "string", "minLength": 1},
    "inReplyTo": {"type": "string", "minLength": 1},
    "subject": {"type": "string", "maxLength": 900},
    "text": {"type": "string"},
    "html": {"type": "string"},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}},
    "attachments": {"type": "array", "maxItems": 20, "items": {
      "type": "object", "additionalProperties": false, "required": ["filename", "content"],
      "properties": {
        "filename": {"type": "string", "minLength": 1, "maxLength": 200},
        "content": {"type": "string"},
        "encoding": {"enum": ["utf8", "base64"]},
        "contentType": {"type": "string", "minLength": 1}}}}
  }
}`

const sendResultSchema = `{
  "type": "object", "required": ["messageId", "answer"],
  "properties": {"messageId": {"type": "string"}, "answer": {"type": "string"}}
}`

// addresses are one address or several.
type addresses []string

// UnmarshalJSON takes a text or a list of them.
func (a *addresses) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = nil
		if one != "" {
			*a = addresses{one}
		}
		return nil
	}
	var several []string
	err := json.Unmarshal(text, &several)
	*a = several
	return err
}

// params are the parameters of send as a script gives them.
type params struct {
	From        string            `json:"from"`
	To          addresses         `json:"to"`
	Cc          addresses         `json:"cc"`
	Bcc         addresses         `json:"bcc"`
	ReplyTo     string            `json:"replyTo"`
	InReplyTo   string            `json:"inReplyTo"`
	Subject     string            `json:"subject"`
	Text        *string           `json:"text"`
	HTML        *string           `json:"html"`
	Headers     map[string]string `json:"headers"`
	Attachments []struct {
		Filename    string `json:"filename"`
		Content     string `json:"content"`
		Encoding    string `json:"encoding"`
		ContentType string `json:"contentType"`
	} `json:"attachments"`
}

// letter is a mail that is checked and not yet written.
type letter struct {
	from        mail.Address
	to, cc, bcc []mail.Address
	replyTo     *mail.Address
	inReplyTo   string
	subject     string
	text, html  *string
	headers     []header
	attachments []attachment
}

type header struct{ name, value string }

type attachment struct {
	filename, contentType string
	params                map[string]string
	content               []byte
}

func refuse(code, format string, args ...any) *eventlog.Failure {
	return connector.Failf(eventlog.Logic, "smtp."+code, format, args...)
}

// parse checks the parameters; nothing is written or sent before.
func (s *server) parse(call connector.Call) (letter, *eventlog.Failure) {
	var p params
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return letter{}, failure
	}
	l := letter{text: p.Text, html: p.HTML}
	var failure *eventlog.Failure
	if l.from, failure = s.sender(p.From); failure != nil {
		return letter{}, failure
	}
	for _, list := range []struct {
		key   string
		given addresses
		into  *[]mail.Address
	}{{"to", p.To, &l.to}, {"cc", p.Cc, &l.cc}, {"bcc", p.Bcc, &l.bcc}} {
		for _, text := range list.given {
			address, err := parseAddress(text)
			if err != nil {
				return letter{}, refuse("address", "%s: %v", list.key, err)
			}
			*list.into = append(*list.into, address)
		}
	}
	if n := len(l.recipients()); n > maxRecipients {
		return letter{}, refuse("tooMany", "the mail has %d recipients, the limit is %d: send several mails", n,
			maxRecipients)
	}
	if p.ReplyTo != "" {
		address, err := parseAddress(p.ReplyTo)
		if err != nil {
			return letter{}, refuse("address", "replyTo: %v", err)
		}
		l.replyTo = &address
	}
	// Mails come with ids that no header may hold. The answer to one is sent all the same, as a mail without a thread.
	id := strings.TrimSuffix(strings.TrimPrefix(p.InReplyTo, "<"), ">")
	if len(id) <= maxMessageID && messageID.MatchString(id) {
		l.inReplyTo = id
	}
	var err error
	if l.subject, err = oneLine(p.Subject); err != nil {
		return letter{}, refuse("header", "the subject %v", err)
	}
	if p.Text == nil && p.HTML == nil {
		return letter{}, refuse("empty", "the mail has neither text nor html")
	}
	if l.headers, failure = parseHeaders(p.Headers); failure != nil {
		return letter{}, failure
	}
	l.attachments, failure = parseAttachments(p)
	return l, failure
}

// recipients are all to whom the mail goes, each once.
func (l letter) recipients() (all []string) {
	for _, address := range slices.Concat(l.to, l.cc, l.bcc) {
		if !slices.Contains(all, address.Address) {
			all = append(all, address.Address)
		}
	}
	return all
}

// codeFrom is the failure of a mail from an address that is not configured.
const codeFrom = "smtp.from"

// sender is the address that the mail is from: the first that is configured, or the one that the script names.
func (s *server) sender(text string) (mail.Address, *eventlog.Failure) {
	if text == "" {
		return s.from[0], nil
	}
	address, err := parseAddress(text)
	if err != nil {
		return mail.Address{}, refuse("address", "from: %v", err)
	}
	for _, allowed := range s.from {
		if strings.EqualFold(allowed.Address, address.Address) {
			if address.Name == "" {
				return allowed, nil
			}
			return mail.Address{Name: address.Name, Address: allowed.Address}, nil
		}
	}
	if s.anySender {
		return address, nil
	}
	return mail.Address{}, refuse("from", "mails may not be sent from %s: connectors.smtp.from does not name it",
		address.Address)
}

// The lengths are checked apart from the expressions: x{1,250} is compiled to 250 copies of x. maxOwnHeader counts the
// "X-".
const (
	maxMessageID = 250
	maxOwnHeader = 62
)

var (
	messageID   = regexp.MustCompile(`^[!-;=?-~]+$`) // printable, no angle brackets
	ownHeader   = regexp.MustCompile(`^[Xx]-[A-Za-z0-9-]+$`)
	asciiHeader = regexp.MustCompile(`^[ -~]*$`)
)

// otherHeaders are those that a script may set besides X-…: none of them names the sender or the recipients of a mail,
// or says what it is made of.
var otherHeaders = []string{"Auto-Submitted", "Importance", "List-Id", "List-Unsubscribe", "List-Unsubscribe-Post",
	"Organization", "Precedence"}

func parseHeaders(given map[string]string) (list []header, failure *eventlog.Failure) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, err := oneLine(given[name])
		at := slices.IndexFunc(otherHeaders, func(allowed string) bool { return strings.EqualFold(allowed, name) })
		switch {
		case err != nil:
			return nil, refuse("header", "headers: the value of %s %v", name, err)
		case at < 0 && (len(name) > maxOwnHeader || !ownHeader.MatchString(name)):
			return nil, refuse("header", "headers: %q cannot be set; those that can are X-… and %s", name,
				strings.Join(otherHeaders, ", "))
		case len(value) > maxHeader:
			return nil, refuse("header", "headers: the value of %s has %d bytes, the limit is %d", name, len(value),
				maxHeader)
		case at >= 0 && !asciiHeader.MatchString(value):
			return nil, refuse("header", "headers: the value of %s is not ASCII", name)
		case slices.ContainsFunc(list, func(h header) bool { return strings.EqualFold(h.name, name) }):
			return nil, refuse("header", "headers: %s is there twice", name)
		}
		list = append(list, header{name, value})
	}
	return list, nil
}

func parseAttachments(p params) (list []attachment, failure *eventlog.Failure) {
	for i, given := range p.Attachments {
		a := attachment{content: []byte(given.Content), contentType: "application/octet-stream"}
		var err error
		a.filename, err = oneLine(given.Filename)
		if err != nil || a.filename == "" || strings.ContainsAny(a.filename, `/\`) {
			return nil, refuse("attachment", "attachments[%d]: %q is not the name of a file", i, given.Filename)
		}
		if given.ContentType != "" {
			a.contentType, a.params, err = mime.ParseMediaType(given.ContentType)
			if err != nil || !strings.Contains(a.contentType, "/") || strings.HasPrefix(a.contentType, "multipart/") ||
				strings.HasPrefix(a.contentType, "message/") || len(given.ContentType) > maxHeader {
				return nil, refuse("attachment", "attachments[%d]: %q cannot be the content type of a file", i,
					given.ContentType)
			}
		}
		if given.Encoding == "base64" {
			if a.content, err = base64.StdEncoding.DecodeString(given.Content); err != nil {
				return nil, refuse("attachment", "attachments[%d]: content is not base64: %v", i, err)
			}
		}
		list = append(list, a)
	}
	return list, nil
}

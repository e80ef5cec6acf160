package hook

import (
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// maxTemplate bounds the text of a template, in bytes.
const maxTemplate = 512

// source is where a placeholder takes its value from.
type source string

const (
	fromHeader    source = "header"
	fromQuery     source = "query"
	fromBody      source = "body"
	fromHash      source = "hash"
	fromTimestamp source = "timestamp"
	fromURL       source = "url"
	fromMethod    source = "method"
	// fromForm is the body's form fields in the order that Twilio signs them.
	fromForm source = "form"
)

// Template is a text with placeholders for parts of a request.
type Template struct{ parts []part }

// part is a literal text, or a placeholder if source is set.
type part struct {
	text   string
	source source
	name   string
}

// String is the part as it is written.
func (p part) String() string {
	switch {
	case p.source == "":
		return p.text
	case p.name == "":
		return "{" + string(p.source) + "}"
	}
	return "{" + string(p.source) + ":" + p.name + "}"
}

// The placeholders that stand for themselves in what is signed, and in the templates of an event.
var (
	signedPlain = []source{fromBody, fromTimestamp, fromURL, fromMethod, fromForm}
	eventPlain  = []source{fromHash}
)

const (
	eventPlaceholders  = "{header:NAME}, {query:name}, {body:path.to.member} and {hash}"
	signedPlaceholders = "{body}, {timestamp}, {header:NAME}, {query:name}, {url} and {method}"
)

// parseEvent reads a template of an event: its id, its title, or a challenge.
func parseEvent(text string) (Template, error) {
	return parse(text, eventPlain, []source{fromHeader, fromQuery, fromBody}, eventPlaceholders)
}

// parseSigned reads the template of what is signed.
func parseSigned(text string) (Template, error) {
	return parse(text, signedPlain, []source{fromHeader, fromQuery}, signedPlaceholders)
}

func parse(text string, plain, named []source, known string) (Template, error) {
	if len(text) > maxTemplate {
		return Template{}, fmt.Errorf("the template has %d bytes, at most %d are allowed", len(text), maxTemplate)
	}
	var t Template
	for text != "" {
		literal, rest, open := strings.Cut(text, "{")
		if strings.Contains(literal, "}") {
			return Template{}, errors.New("there is a } without a { before it")
		}
		if literal != "" {
			t.parts = append(t.parts, part{text: literal})
		}
		if !open {
			break
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return Template{}, errors.New("there is a { without a } behind it")
		}
		kind, name, hasName := strings.Cut(inner, ":")
		p := part{source: source(kind), name: name}
		switch {
		case hasName && name != "" && slices.Contains(named, p.source):
		case !hasName && slices.Contains(plain, p.source):
		default:
			return Template{}, fmt.Errorf("{%s} is no placeholder; there are %s", eventlog.ClipName(inner), known)
		}
		if p.source == fromHeader {
			if !isToken(name) {
				return Template{}, fmt.Errorf("%q is not a header name", eventlog.ClipName(name))
			}
			p.name = textproto.CanonicalMIMEHeaderKey(name)
		}
		t.parts = append(t.parts, p)
		text = after
	}
	return t, nil
}

// uses reports whether the template has a placeholder of the source, with the name unless that is empty.
func (t Template) uses(s source, name string) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.source == s && (name == "" || p.name == name) })
}

// constant reports whether the template has no placeholder.
func (t Template) constant() bool {
	return !slices.ContainsFunc(t.parts, func(p part) bool { return p.source != "" })
}

// fill puts values in the place of the placeholders. Those without a value are listed, as they are written.
func (t Template) fill(value func(source, string) (string, bool)) (text string, missing []string) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.source == "" {
			b.WriteString(p.text)
			continue
		}
		v, ok := value(p.source, p.name)
		if !ok || v == "" {
			missing = append(missing, p.String())
		}
		b.WriteString(v)
	}
	return b.String(), missing
}

// isToken reports whether the name can be one of a header.
func isToken(name string) bool {
	return name != "" && len(name) <= 128 && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

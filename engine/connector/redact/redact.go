package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Shortest is the length in bytes from which a value is blanked: a shorter one would blank out
// half of every answer.
const Shortest = 4

// shortestInside is the same for what a secret looks like within other text in base64.
const shortestInside = 8

// mark stands where a secret was.
const mark = "***"

// Redactor blanks secrets out of what scripts and the log get to see, in the forms in which answers repeat them: as
// they are, percent-encoded, in JSON and in base64.
type Redactor struct {
	forms    []string // longest first
	replacer *strings.Replacer
}

// New returns a Redactor of these secrets. A secret shorter than Shortest is not blanked.
func New(secrets []string) *Redactor {
	r := &Redactor{}
	for _, secret := range secrets {
		if len(secret) >= Shortest {
			r.forms = append(r.forms, formsOf(secret)...)
		}
	}
	slices.SortFunc(r.forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	r.forms = slices.Compact(r.forms)
	pairs := make([]string, 0, 2*len(r.forms))
	for _, form := range r.forms {
		pairs = append(pairs, form, mark)
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

func formsOf(secret string) []string {
	forms := []string{secret}
	for _, escaped := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		forms = append(forms, escaped, lowerHex(escaped))
	}
	for _, escapeHTML := range []bool{true, false} {
		once := inJSON(secret, escapeHTML)
		forms = append(forms, once, inJSON(once, escapeHTML)) // a body that quotes a body has it twice
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, encoding.EncodeToString([]byte(secret)))
		for before := range 3 {
			// Behind so many other bytes: only the characters that the secret alone decides.
			text := encoding.EncodeToString(append(make([]byte, before), secret...))
			inside := text[(before*8+5)/6 : (before+len(secret))*8/6]
			if len(inside) >= shortestInside {
				forms = append(forms, inside)
			}
		}
	}
	return forms
}

// inJSON is the text as a JSON string holds it.
func inJSON(text string, escapeHTML bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(escapeHTML)
	if err := encoder.Encode(text); err != nil {
		return text // a string always encodes
	}
	quoted := strings.TrimSpace(out.String())
	return quoted[1 : len(quoted)-1]
}

// lowerHex writes percent escapes in lower case.
func lowerHex(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// Text blanks out a text.
func (r *Redactor) Text(s string) string {
	if len(r.forms) == 0 {
		return s
	}
	return r.replacer.Replace(s)
}

// Bytes is Text for a body, which is copied only if there is something in it.
func (r *Redactor) Bytes(b []byte) (out []byte, changed bool) {
	for _, form := range r.forms {
		if bytes.Contains(b, []byte(form)) {
			return []byte(r.replacer.Replace(string(b))), true
		}
	}
	return b, false
}

// Failure blanks out a failure's message.
func (r *Redactor) Failure(f *eventlog.Failure) *eventlog.Failure {
	if f == nil {
		return nil
	}
	out := *f
	out.Message = r.Text(f.Message)
	return &out
}

// Outcome blanks out the message of an outcome's failure.
func (r *Redactor) Outcome(out connector.Outcome) connector.Outcome {
	out.Failure = r.Failure(out.Failure)
	return out
}

// Parts returns the value and, if it begins with a scheme as in "Bearer X", the part after the scheme, so that both
// are blanked.
func Parts(value string) []string {
	if _, token, found := strings.Cut(value, " "); found {
		return []string{value, token}
	}
	return []string{value}
}

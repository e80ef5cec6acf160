package hook

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/eventlog"
)

// MaxBody bounds the body of a request, and of a sample, in bytes.
const MaxBody = 1 << 20

// Request is what another system has sent, as it was received.
type Request struct {
	Method string
	// URL is the whole address that the sender has called, with the query as it was written.
	URL      string
	RawQuery string
	Header   http.Header
	Body     []byte
}

// The codes of requests that do not have the form that they claim.
const (
	CodeQuery       = "query.invalid"
	CodeContentType = "contentType.invalid"
	CodeForm        = "form.invalid"
	CodeJSON        = "json.invalid"
)

// Unreadable says that a request cannot be read as what it says it is, or lacks what its event needs.
type Unreadable struct{ Code, Message, Hint string }

// Error is what is wrong with the request.
func (e *Unreadable) Error() string { return e.Message }

// content is a request taken apart.
type content struct {
	*Request
	query url.Values
	media string
	// json is the body of a JSON request, form that of a form.
	json json.RawMessage
	form url.Values
	// token is the query parameter that verifies the request; empty where none does.
	token string
}

// read takes the request apart; the error is an *[Unreadable].
func (r *Request) read() (*content, error) {
	c := &content{Request: r}
	var err error
	if c.query, err = url.ParseQuery(r.RawQuery); err != nil {
		return nil, &Unreadable{CodeQuery, "the query cannot be read", "encode it as a form: a=1&b=2"}
	}
	if written := r.Header.Get("Content-Type"); written != "" {
		if c.media, _, err = mime.ParseMediaType(written); err != nil {
			return nil, &Unreadable{CodeContentType, "the Content-Type cannot be read",
				"write e.g. application/json"}
		}
	}
	switch {
	case c.isForm():
		if c.form, err = url.ParseQuery(string(r.Body)); err != nil || !validForm(c.form) {
			return nil, &Unreadable{CodeForm, "the body is not a form, although its Content-Type says so",
				"encode it as a form: a=1&b=2, in UTF-8"}
		}
	case !c.isJSON():
	case len(bytes.TrimSpace(r.Body)) == 0:
		c.json = json.RawMessage("null")
	case eventlog.Deeper(r.Body, maxLevels):
		return nil, &Unreadable{CodeJSON, fmt.Sprintf("the body is nested too deep: JSON may have %d levels", maxLevels),
			"send it flatter, or as text with another Content-Type"}
	case !utf8.Valid(r.Body) || !json.Valid(r.Body):
		return nil, &Unreadable{CodeJSON, "the body is not JSON, although its Content-Type says so",
			"send one JSON document, encoded as UTF-8"}
	case eventlog.TooLarge(r.Body):
		return nil, &Unreadable{CodeJSON, "the body has a number that is too large for scripts: numbers end at about 1.8e308",
			"send it as a text"}
	default:
		c.json = bytes.TrimSpace(r.Body)
	}
	if !validForm(c.query) {
		return nil, &Unreadable{CodeQuery, "the query is not UTF-8", "encode it as UTF-8"}
	}
	return c, nil
}

// maxLevels is how deep the lists and objects of a body may be nested: the body becomes a member of the payload.
const maxLevels = eventlog.MaxDepth - 1

func (c *content) isForm() bool { return c.media == "application/x-www-form-urlencoded" }

func (c *content) isJSON() bool {
	return c.media == "application/json" || strings.HasSuffix(c.media, "+json")
}

func validForm(v url.Values) bool {
	for name, values := range v {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(s string) bool { return !utf8.ValidString(s) }) {
			return false
		}
	}
	return true
}

// hash is the SHA-256 of the body; where there is no body, of the query without the token that verifies the request.
func (c *content) hash() string {
	if len(c.Body) > 0 {
		return hashOf(c.Body)
	}
	query := c.RawQuery
	if c.token != "" {
		query = strings.Join(slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool {
			name, _, _ := strings.Cut(pair, "=")
			name, err := url.QueryUnescape(name)
			return err != nil || name == c.token
		}), "&")
	}
	return hashOf([]byte(query))
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// value is that of a placeholder in the template of an event.
func (c *content) value(s source, name string) (string, bool) {
	switch s {
	case fromHeader:
		return c.Header.Get(name), c.Header.Get(name) != ""
	case fromQuery:
		return c.query.Get(name), c.query.Has(name)
	case fromHash:
		return c.hash(), true
	case fromBody:
		if c.form != nil {
			return c.form.Get(name), c.form.Has(name)
		}
		return member(c.json, strings.Split(name, "."))
	}
	return "", false
}

// member is a text, number or flag at a path into JSON, with the text that it is written with; false for anything else.
// Of a member that stands twice the last counts.
func member(value json.RawMessage, path []string) (string, bool) {
	for _, name := range path {
		value = bytes.TrimSpace(value)
		switch {
		case len(value) == 0:
			return "", false
		case value[0] == '{':
			var object map[string]json.RawMessage
			if json.Unmarshal(value, &object) != nil {
				return "", false
			}
			value = object[name]
		case value[0] == '[':
			var array []json.RawMessage
			at, err := strconv.Atoi(name)
			if err != nil || json.Unmarshal(value, &array) != nil || at < 0 || at >= len(array) {
				return "", false
			}
			value = array[at]
		default:
			return "", false
		}
	}
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0, value[0] == '{', value[0] == '[', value[0] == 'n':
		return "", false
	case value[0] == '"':
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	}
	return string(value), true
}

// body is the body in the payload: parsed JSON, the fields of a form, text, else base64, which encoding says.
func (c *content) body() (body any, encoding string) {
	switch {
	case c.json != nil:
		return c.json, ""
	case c.form != nil:
		return fields(c.form), ""
	case len(c.Body) == 0:
		return nil, ""
	case (c.media == "" || strings.HasPrefix(c.media, "text/") || strings.HasSuffix(c.media, "/xml") ||
		strings.HasSuffix(c.media, "+xml")) && utf8.Valid(c.Body):
		return string(c.Body), ""
	}
	return base64.StdEncoding.EncodeToString(c.Body), base64Text
}

// fields are those of a form: a text, or an array of texts where a field stands several times.
func fields(form url.Values) map[string]any {
	out := make(map[string]any, len(form))
	for name, values := range form {
		out[name] = values
		if len(values) == 1 {
			out[name] = values[0]
		}
	}
	return out
}

// payload is what an event of the request carries, without the query's token.
func (c *content) payload(h *eventlog.Hook) (json.RawMessage, error) {
	query := fields(c.query)
	if c.token != "" {
		delete(query, c.token)
	}
	headers := make(map[string]string, len(h.Headers))
	for _, name := range h.Headers {
		if values := c.Header.Values(name); len(values) > 0 {
			headers[name] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
		}
	}
	body, encoding := c.body()
	var payload bytes.Buffer
	write := json.NewEncoder(&payload)
	write.SetEscapeHTML(false)
	err := write.Encode(struct {
		Method      string            `json:"method"`
		Query       map[string]any    `json:"query"`
		Headers     map[string]string `json:"headers"`
		ContentType string            `json:"contentType"`
		Body        any               `json:"body"`
		Encoding    string            `json:"encoding,omitempty"`
	}{c.Method, query, headers, c.media, body, encoding})
	if err != nil {
		return nil, fmt.Errorf("write the payload of a hook: %w", err)
	}
	return bytes.TrimSuffix(payload.Bytes(), []byte("\n")), nil
}

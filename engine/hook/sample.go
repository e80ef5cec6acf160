package hook

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pawl-run/pawl/eventlog"
)

// Sample makes a request that becomes an event of the hook: a POST to the address, with values for all placeholders of
// its templates, unsigned. A nil body is made up, too; name tells samples apart. The error says that the declaration
// cannot be read.
func Sample(h *eventlog.Hook, address string, body []byte, contentType, name string) (*Request, error) {
	r := &Request{Method: http.MethodPost, URL: address, Header: http.Header{}, Body: body}
	content := map[string]any{}
	query := url.Values{}
	for i, text := range []string{h.ID, h.Title} {
		template, err := parseEvent(text)
		if err != nil {
			return nil, fmt.Errorf("read the templates of hook %s: %w", h.Name, err)
		}
		value := [2]string{"sample-" + name, "sample"}[i]
		for _, p := range template.parts {
			switch p.source {
			case fromHeader:
				if r.Header.Get(p.name) == "" {
					r.Header.Set(p.name, value)
				}
			case fromQuery:
				if !query.Has(p.name) {
					query.Set(p.name, value)
				}
			case fromBody:
				put(content, strings.Split(p.name, "."), value)
			}
		}
	}
	r.Header.Set("Content-Type", "application/json")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if body == nil {
		content["sample"] = name
		if h.Verify.Scheme == schemeTwilio {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			form := url.Values{}
			for field := range content {
				if text, ok := content[field].(string); ok {
					form.Set(field, text)
				}
			}
			r.Body = []byte(form.Encode())
		} else {
			var err error
			if r.Body, err = json.Marshal(content); err != nil {
				return nil, fmt.Errorf("write a sample for hook %s: %w", h.Name, err)
			}
		}
	}
	if h.Verify.Scheme == schemeTwilio && !strings.HasPrefix(r.Header.Get("Content-Type"),
		"application/x-www-form-urlencoded") {
		query.Set(bodyHashQuery, hashOf(r.Body))
	}
	if r.RawQuery = query.Encode(); r.RawQuery != "" {
		r.URL += "?" + r.RawQuery
	}
	return r, nil
}

// put sets a member at a path, unless something else stands on the way.
func put(object map[string]any, path []string, value string) {
	for _, name := range path[:len(path)-1] {
		inner, ok := object[name].(map[string]any)
		if !ok {
			if object[name] != nil {
				return
			}
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	if last := path[len(path)-1]; object[last] == nil {
		object[last] = value
	}
}

// Usable reports whether the value of the secret is written as the scheme wants: requests can be verified by no other.
func Usable(v eventlog.HookVerify, secret string) bool {
	if v.Scheme == SchemeNone || v.Scheme == SchemeToken {
		return true
	}
	parts, ok := partsOf(v)
	if ok {
		_, ok = keyOf(parts, secret)
	}
	return ok
}

// Sign gives the request what verifies it, made with one value of the secret at the time. A token is put in as it is.
// The error says that the secret or the declaration cannot be used.
func Sign(v eventlog.HookVerify, secret string, r *Request, now time.Time) error {
	switch v.Scheme {
	case SchemeNone:
		return nil
	case SchemeToken:
		if v.Header != "" {
			r.Header.Set(v.Header, secret)
			return nil
		}
		separator := "?"
		if r.RawQuery != "" {
			r.RawQuery += "&"
			separator = "&"
		}
		parameter := url.QueryEscape(v.Query) + "=" + url.QueryEscape(secret)
		r.RawQuery += parameter
		r.URL += separator + parameter
		return nil
	}
	parts, ok := partsOf(v)
	if !ok {
		return fmt.Errorf("sign a request: there is no scheme %q", v.Scheme)
	}
	key, ok := keyOf(parts, secret)
	if !ok {
		return fmt.Errorf("sign a request: the value of secret %s is not what scheme %s takes", v.Secret, v.Scheme)
	}
	stamp := ""
	if t := parts.Timestamp; t != nil {
		stamp = writeTime(t.Format, now)
		if t.Header != "" {
			r.Header.Set(t.Header, stamp)
		}
	}
	if signed, err := parseSigned(parts.Signed); err == nil {
		for _, p := range signed.parts {
			if p.source == fromHeader && r.Header.Get(p.name) == "" {
				r.Header.Set(p.name, "sample")
			}
		}
	}
	content, err := signedContent(parts, r, r.URL, stamp)
	if err != nil {
		return fmt.Errorf("sign a request: %w", err)
	}
	mac := sign(parts.Hash, key, content)
	text := parts.Signatures.Prefix + hex.EncodeToString(mac)
	if parts.Signatures.Encoding == base64Text {
		text = parts.Signatures.Prefix + base64.StdEncoding.EncodeToString(mac)
	}
	if t := parts.Timestamp; t != nil && t.In != "" {
		text = t.In + stamp + parts.Signatures.Split + text
	}
	r.Header.Set(parts.Signatures.Header, text)
	return nil
}

func writeTime(format string, now time.Time) string {
	switch format {
	case rfc3339:
		return now.UTC().Format(time.RFC3339)
	case unixMillis:
		return strconv.FormatInt(now.UnixMilli(), 10)
	}
	return strconv.FormatInt(now.Unix(), 10)
}

// Curl is a command for a shell that sends the request.
func (r *Request) Curl() string { return r.curl(quote) }

// CurlOf is the same with the value of an environment variable in the place of the text stands, so that a token need
// not be in it.
func (r *Request) CurlOf(stands, variable string) string {
	return r.curl(func(text string) string {
		before, after, found := strings.Cut(text, stands)
		switch {
		case !found:
			return quote(text)
		case strings.ContainsAny(before+after, "\"$`\\!") || strings.ContainsFunc(before+after, isUnprintable):
			return quote(before) + `"$` + variable + `"` + quote(after) // between " " these mean something to a shell
		}
		return `"` + before + "$" + variable + after + `"`
	})
}

func (r *Request) curl(quote func(string) string) string {
	var b bytes.Buffer
	b.WriteString("curl -i " + quote(r.URL))
	if r.Method != http.MethodPost {
		b.WriteString(" -X " + r.Method)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			b.WriteString(" \\\n  -H " + quote(name+": "+value))
		}
	}
	b.WriteString(" \\\n  --data-raw " + quote(string(r.Body)))
	return b.String()
}

// quote makes a text one word of a shell, without characters that control a terminal.
func quote(text string) string {
	if !strings.ContainsFunc(text, isUnprintable) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'") // bash, zsh and ksh know this
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '\\':
			b.WriteString("\\" + string(c))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + "'"
}

func isUnprintable(r rune) bool {
	return r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == unicode.ReplacementChar
}

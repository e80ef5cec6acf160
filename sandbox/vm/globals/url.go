package globals

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/nlnwa/whatwg-url/url"
)

//go:embed js/url.js
var urlSource string

var urlProgram = source("URL", &urlSource)

// addresses adds URL and URLSearchParams, which are made at the first use.
func (s *setup) addresses() {
	load := s.once(func() *goja.Object {
		return s.builtin(urlProgram, s.native(s.address), s.native(s.decodeQuery), s.native(s.encodeQuery))
	})
	for _, name := range []string{"URL", "URLSearchParams"} {
		s.lazily(name, func() goja.Value { return load().Get(name) })
	}
}

const (
	// maxAddress bounds the text of a URL or query in bytes.
	maxAddress = 1 << 20
	// maxAddressWork bounds its length times the number of its parts: the library looks at all that
	// follows at each of them.
	maxAddressWork = 32 << 20
)

// addressText is an argument that a built-in script made a string.
func (s *setup) addressText(v goja.Value) string {
	text := v.String()
	if len(text) > maxAddress {
		panic(s.rt.NewTypeError("the URL has %d bytes; the limit is %d", len(text), maxAddress))
	}
	parts := userinfo(text)
	for _, separator := range []string{"/", `\`, "@", "\uFFFD"} {
		parts += strings.Count(text, separator)
	}
	if parts*len(text) > maxAddressWork {
		panic(s.rt.NewTypeError("the URL has %d parts in %d bytes, which is too much", parts, len(text)))
	}
	return text
}

// userinfo is the length of what stands before the @ of a host: each of its characters is a part.
func userinfo(text string) int {
	_, rest, _ := strings.Cut(text, ":")
	rest = strings.TrimLeft(rest, `/\`)
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		rest = rest[:i]
	}
	return max(strings.LastIndexByte(rest, '@'), 0)
}

// address parses a text against a base and may change one member; it answers all members, or null if
// there is no such URL.
func (s *setup) address(call goja.FunctionCall) goja.Value {
	var u *url.Url
	var err error
	text := s.addressText(call.Argument(0))
	if base := call.Argument(1); goja.IsUndefined(base) {
		u, err = url.Parse(text)
	} else {
		u, err = url.ParseRef(s.addressText(base), text)
	}
	if err != nil {
		return goja.Null()
	}
	if name := call.Argument(2); !goja.IsUndefined(name) {
		setAddress(u, name.String(), s.addressText(call.Argument(3)))
	}
	return s.texts([]string{u.Href(false), origin(u), u.Protocol(), u.Username(), u.Password(), u.Host(), u.Hostname(),
		u.Port(),
		u.Pathname(), u.Search(), u.Hash()})
}

func setAddress(u *url.Url, name, value string) {
	switch name {
	case "protocol":
		u.SetProtocol(value)
	case "username":
		u.SetUsername(value)
	case "password":
		u.SetPassword(value)
	case "host":
		u.SetHost(value)
	case "hostname":
		u.SetHostname(value)
	case "port":
		u.SetPort(value)
	case "pathname":
		u.SetPathname(value)
	case "search":
		u.SetSearch(value)
	case "hash":
		u.SetHash(value)
	}
}

// origin is scheme and host of what browsers know to have one.
func origin(u *url.Url) string {
	switch u.Scheme() {
	case "http", "https", "ws", "wss", "ftp":
		return u.Protocol() + "//" + u.Host()
	case "blob":
		if inner, err := url.Parse(u.Pathname()); err == nil &&
			(inner.Scheme() == "http" || inner.Scheme() == "https") {
			return origin(inner)
		}
	}
	return "null"
}

func (s *setup) queryText(v goja.Value) string {
	text := v.String()
	if len(text) > maxAddress {
		panic(s.rt.NewTypeError("the query has %d bytes; the limit is %d", len(text), maxAddress))
	}
	return text
}

// decodeQuery reads a query into a flat list of names and values.
func (s *setup) decodeQuery(call goja.FunctionCall) goja.Value {
	var flat []string
	for pair := range strings.SplitSeq(strings.TrimPrefix(s.queryText(call.Argument(0)), "?"), "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		flat = append(flat, decodeQueryText(name), decodeQueryText(value))
	}
	return s.texts(flat)
}

func decodeQueryText(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '+':
			b.WriteByte(' ')
		case c == '%' && i+2 < len(text) && hexDigit(text[i+1]) >= 0 && hexDigit(text[i+2]) >= 0:
			b.WriteByte(byte(hexDigit(text[i+1])<<4 | hexDigit(text[i+2])))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return validText(b.String())
}

func hexDigit(c byte) int {
	if c >= 'A' && c <= 'F' {
		c += 'a' - 'A'
	}
	return strings.IndexByte("0123456789abcdef", c)
}

// encodeQuery writes a flat list of names and values as a query.
func (s *setup) encodeQuery(call goja.FunctionCall) goja.Value {
	list := call.Argument(0).ToObject(s.rt)
	var b strings.Builder
	for i := range int(list.Get("length").ToInteger()) {
		switch {
		case i%2 == 1:
			b.WriteByte('=')
		case i > 0:
			b.WriteByte('&')
		}
		if v := list.Get(strconv.Itoa(i)); v != nil {
			encodeQueryText(&b, v.String())
		}
		if b.Len() > 4*maxAddress {
			panic(s.rt.NewTypeError("the query has more than %d bytes", 4*maxAddress))
		}
	}
	return s.rt.ToValue(b.String())
}

func encodeQueryText(b *strings.Builder, text string) {
	const hex = "0123456789ABCDEF"
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '*', c == '-', c == '.', c == '_':
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
}

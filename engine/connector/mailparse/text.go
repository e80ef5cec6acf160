package mailparse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Results are bounded as JSON, because that is how they reach the script: a `<` or a control
// character takes six bytes there.

// jsonSize is how many bytes a character takes at most in a JSON string.
func jsonSize(r rune) int {
	switch {
	case r < 0x20 || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
		return 6
	case r == '"' || r == '\\':
		return 2
	default:
		return utf8.RuneLen(r)
	}
}

// limited cuts a text so that it takes at most so many bytes as JSON, and reports whether it was longer.
func limited(text string, most int) (string, bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	size := 0
	for i, r := range text {
		if size += jsonSize(r); size > most {
			return text[:i], true
		}
	}
	return text, false
}

// room is what is left for several texts together, in bytes as JSON.
type room int

// take uses room for a text and its quotes and comma, or reports that there is not enough.
func (r *room) take(text string) bool {
	size := 3
	for _, c := range text {
		size += jsonSize(c)
	}
	if size > int(*r) {
		return false
	}
	*r -= room(size)
	return true
}

// excerpt is at most so many bytes of an untrusted text, in one line that can be
// printed: every run of blanks becomes one, every run of what cannot be printed a dot.
func excerpt(text string, most int) string {
	var out strings.Builder
	last := ' '
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case !unicode.IsPrint(r) || r == utf8.RuneError:
			r = '·'
		}
		if r == last && (r == ' ' || r == '·') {
			continue
		}
		if out.Len()+utf8.RuneLen(r)+len("…") > most {
			return out.String() + "…"
		}
		out.WriteRune(r)
		last = r
	}
	return strings.TrimSpace(out.String())
}

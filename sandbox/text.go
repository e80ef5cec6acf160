package sandbox

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Clip shortens a text of unknown size for a message, at a character's border.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Quoted lists names in quotes, for a message.
func Quoted(names []string) string {
	var list []string
	for _, name := range names[:min(len(names), 10)] {
		list = append(list, fmt.Sprintf("%q", Clip(name, 150)))
	}
	return strings.Join(list, ", ")
}

// IsASCII reports whether each byte of a text is a character.
func IsASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

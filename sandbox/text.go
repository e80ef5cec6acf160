package sandbox

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// clip shortens a text of unknown size for a message, at a character's border.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

func quoted(names []string) string {
	var list []string
	for _, name := range names[:min(len(names), 10)] {
		list = append(list, fmt.Sprintf("%q", clip(name, 150)))
	}
	return strings.Join(list, ", ")
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

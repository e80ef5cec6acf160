package eventlog

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxQuoted is how many bytes of a name that an author, a caller or a tool has chosen stand in a message.
const MaxQuoted = 80

// Clip returns the text as valid UTF-8 of at most so many bytes, with a mark where it was cut. What is behind the
// cut is not looked at.
func Clip[T ~string | ~[]byte](text T, most int) string {
	// A character that this cuts in two becomes invalid, and begins behind the place of the mark.
	kept := strings.ToValidUTF8(string(text[:min(len(text), max(most, 0))]), "\uFFFD")
	if len(text) <= most && len(kept) <= most {
		return kept
	}
	cut := min(most-len("…"), len(kept))
	for cut > 0 && cut < len(kept) && !utf8.RuneStart(kept[cut]) {
		cut--
	}
	return kept[:max(cut, 0)] + "…"
}

// ClipName keeps a name, or another short text from outside, at most MaxQuoted bytes long in a message.
func ClipName[T ~string | ~[]byte](name T) string { return Clip(name, MaxQuoted) }

// Count agrees a noun with its number: 1 run, 2 runs.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

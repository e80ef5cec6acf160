package eventlog

import (
	"errors"
	"fmt"
	"strconv"
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

// ClipText keeps a message, or a text that goes into one, at most MaxMessage bytes long.
func ClipText[T ~string | ~[]byte](text T) string { return Clip(text, MaxMessage) }

// Count agrees a noun with its number: 1 run, 2 runs.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// MaxDepth is how many levels deep the lists and objects of JSON that comes from outside may be nested. A script's
// process and the readers of its history work on each level, so a few thousand of them, in a few KiB, would stop a
// workflow. What is in a log already is read whatever its depth.
const MaxDepth = 512

// Deeper reports whether lists and objects in a JSON text are nested more than so many levels deep. It takes no memory,
// and the text need not be valid.
func Deeper(text []byte, levels int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++ // the character behind it ends no string
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > levels {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

// TooLarge reports whether a JSON text has a number that is too large for a script, which would read Infinity and could
// not pass it on. The text need not be valid.
func TooLarge(text []byte) bool {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++ // the character behind it ends no string
		case !quoted && '0' <= c && c <= '9':
			end := i + 1
			for end < len(text) && strings.IndexByte("0123456789.eE+-", text[end]) >= 0 {
				end++
			}
			if _, err := strconv.ParseFloat(string(text[i:end]), 64); errors.Is(err, strconv.ErrRange) {
				return true
			}
			i = end - 1
		}
	}
	return false
}

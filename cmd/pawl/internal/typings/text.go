package typings

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

const (
	// width is how long a line is meant to be.
	width = 120
	// maxComment is how much of a description is shown, in characters.
	maxComment = 400
	// maxText is how long a string may be to become a literal type.
	maxText = 200
)

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// memberName is the name of a member as an object's type writes it.
func memberName(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return quoted(name)
}

// quoted is a string literal. Characters that are not visible are escaped, so that no text looks like another one.
func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case unicode.IsPrint(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// numeral is the literal of a number; a number that JavaScript cannot hold exactly has none.
func numeral(n json.Number) (string, bool) {
	f, err := n.Float64()
	if err != nil || math.Abs(f) >= 1<<53 {
		return "", false
	}
	if f == 0 {
		return "0", true // also of -0
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}

// comment is a description as a comment on lines of its own; empty for an empty one. It is one paragraph without
// invisible characters, and no text in it can end the comment early.
func comment(description string) string {
	var visible strings.Builder
	for _, r := range description {
		switch {
		case unicode.IsSpace(r):
			visible.WriteByte(' ')
		case unicode.IsPrint(r):
			visible.WriteRune(r)
		}
	}
	words := strings.Fields(visible.String())
	if len(words) == 0 {
		return ""
	}
	text := []rune(strings.Join(words, " "))
	if len(text) > maxComment {
		text = append(text[:maxComment:maxComment], '…')
	}
	safe := strings.ReplaceAll(string(text), "*/", `*\/`)
	if len([]rune(safe)) <= width-16 {
		return "/** " + safe + " */\n"
	}
	lines := []string{""}
	for each := range strings.FieldsSeq(safe) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = each
		case len([]rune(*last))+len([]rune(each)) < width-16:
			*last += " " + each
		default:
			lines = append(lines, each)
		}
	}
	return "/**\n * " + strings.Join(lines, "\n * ") + "\n */\n"
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// indented moves all lines but the first two columns to the right.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

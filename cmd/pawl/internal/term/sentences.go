package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
)

// maxSentences bounds how much of a text Sentences and Indented show, in characters.
const maxSentences = 32_000

// margin is before a line that continues the line above it.
const margin = "  "

// Indented prints a text of any origin, a little to the right; on a terminal it is wrapped into its lines.
func (s Screen) Indented(of string) {
	lines := []string{OneLine(of, maxSentences)}
	if IsTerminal(s.Out) {
		lines = strings.Split(text.WrapSoft(lines[0], max(s.width()-len(margin), least)), "\n")
	}
	for _, line := range lines {
		fmt.Fprintf(s.Out, "%s%s\n", margin, strings.TrimRight(line, " "))
	}
}

// Sentences breaks a text of any origin into its sentences, each on a line of its own. On a terminal a longer one goes
// on in the next line, a little to the right.
func (s Screen) Sentences(of string) []string {
	var lines []string
	for _, sentence := range sentences(OneLine(of, maxSentences)) {
		if !IsTerminal(s.Out) {
			lines = append(lines, sentence)
			continue
		}
		for i, line := range strings.Split(text.WrapSoft(sentence, max(s.width()-len(margin), 1)), "\n") {
			if i > 0 {
				line = margin + line
			}
			lines = append(lines, strings.TrimRight(line, " "))
		}
	}
	return lines
}

// sentences splits a text behind each full stop that a capital letter or a number follows.
func sentences(text string) []string {
	var all []string
	for from := 0; ; {
		stop := strings.Index(text[from:], ". ")
		if stop < 0 {
			return append(all, text)
		}
		from += stop + len(". ")
		if next, _ := utf8.DecodeRuneInString(text[from:]); unicode.IsUpper(next) || unicode.IsDigit(next) {
			all, text, from = append(all, text[:from-1]), text[from:], 0
		}
	}
}

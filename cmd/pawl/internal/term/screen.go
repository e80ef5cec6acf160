package term

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"github.com/pawl-run/pawl/eventlog"
)

// IsTerminal reports whether a person reads what is written.
func IsTerminal(w any) bool {
	file := fileOf(w)
	return file != nil && (isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd()))
}

// fileOf is the file behind an output; nil where there is none.
func fileOf(w any) *os.File {
	if out, ok := w.(*Output); ok {
		w = out.To
	}
	file, _ := w.(*os.File)
	return file
}

// Screen is the input of a command, the output for its result, and the output for everything else that it prints.
type Screen struct {
	In       io.Reader
	Out, Err io.Writer
	// Env looks up a variable of the environment; nil is an empty environment.
	Env func(name string) (value string, ok bool)
}

// Terminal reports whether a person reads the results of the command.
func (s Screen) Terminal() bool { return IsTerminal(s.Out) }

// unknownWidth is the width of a terminal that does not report its own.
const unknownWidth = 80

// width is how many characters a line of the output has: COLUMNS, else as many as the terminal reports, else 80.
func (s Screen) width() int {
	if n, err := strconv.Atoi(s.variable("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if file := fileOf(s.Out); file != nil {
		if n, _, err := term.GetSize(int(file.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return unknownWidth
}

// Style colours what is written to w, which is a terminal, unless NO_COLOR is set (to anything but nothing).
func (s Screen) Style(w io.Writer) Style {
	return Style(IsTerminal(w) && s.variable("NO_COLOR") == "" && s.variable("TERM") != "dumb")
}

func (s Screen) variable(name string) string {
	if s.Env == nil {
		return ""
	}
	value, _ := s.Env(name)
	return value
}

// JSON writes a JSON document as one line, or indented for a person at a terminal.
func (s Screen) JSON(document []byte) error {
	var out bytes.Buffer
	if err := Indent(&out, document, IsTerminal(s.Out)); err != nil {
		return err
	}
	_, err := out.WriteTo(s.Out)
	return err
}

// Style colours text, or leaves it plain.
type Style bool

func (s Style) wrap(code, text string) string {
	if !s {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Green, Red, Yellow, Dim and Bold are the text in that colour or weight.
func (s Style) Green(text string) string  { return s.wrap("32", text) }
func (s Style) Red(text string) string    { return s.wrap("31", text) }
func (s Style) Yellow(text string) string { return s.wrap("33", text) }
func (s Style) Dim(text string) string    { return s.wrap("2", text) }
func (s Style) Bold(text string) string   { return s.wrap("1", text) }

// OneLine makes text of any origin safe for a line on a terminal: without control characters, and so without escape
// codes, without direction overrides, and with at most so many characters.
func OneLine(text string, most int) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	clean = strings.Join(strings.Fields(clean), " ")
	if runes := []rune(clean); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return clean
}

// Indent writes a JSON document and a line break, spread over lines for a person.
func Indent(out *bytes.Buffer, document []byte, spread bool) error {
	var err error
	if spread {
		err = json.Indent(out, document, "", "  ")
	} else {
		err = json.Compact(out, document)
	}
	out.WriteByte('\n')
	return err
}

// Plural counts a noun: no run, 1 run, 2 runs.
func Plural(n int, noun string) string {
	if n == 0 {
		return "no " + noun
	}
	return eventlog.Count(n, noun)
}

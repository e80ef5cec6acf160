package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/mattn/go-isatty"
)

// isTerminal reports whether a person reads what is written.
func isTerminal(w any) bool {
	if out, ok := w.(*output); ok {
		w = out.to
	}
	file, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd()))
}

// style colours text, or leaves it plain.
type style bool

// styleOf colours for a terminal unless NO_COLOR is set (to anything but nothing).
func (a *app) styleOf(w io.Writer) style {
	no, _ := a.env("NO_COLOR")
	term, _ := a.env("TERM")
	return style(isTerminal(w) && no == "" && term != "dumb")
}

func (s style) wrap(code, text string) string {
	if !s {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) green(text string) string  { return s.wrap("32", text) }
func (s style) red(text string) string    { return s.wrap("31", text) }
func (s style) yellow(text string) string { return s.wrap("33", text) }
func (s style) dim(text string) string    { return s.wrap("2", text) }
func (s style) bold(text string) string   { return s.wrap("1", text) }

// oneLine makes text that anybody may have written fit for a line on a terminal: no control
// characters, so no escape codes, no direction overrides, at most so many characters.
func oneLine(text string, most int) string {
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

// indent writes a JSON document and a line break, spread over lines for a person.
func indent(out *bytes.Buffer, document []byte, spread bool) error {
	var err error
	if spread {
		err = json.Indent(out, document, "", "  ")
	} else {
		err = json.Compact(out, document)
	}
	out.WriteByte('\n')
	return err
}

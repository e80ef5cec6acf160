package source

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Script is a script file as it was read.
type Script struct {
	Path string // absolute
	Text []byte
}

// Name is the name of the file, without its folder.
func (s Script) Name() string { return filepath.Base(s.Path) }

// Read reads the script at path, which must be UTF-8. Errors are *[exit.Failure]: the file cannot be read, or is
// no UTF-8.
func Read(path string) (Script, error) {
	sources, err := ReadAll([]string{path})
	if err != nil {
		return Script{}, err
	}
	return sources[0], sources[0].CheckText()
}

// ReadAll reads files as they are. It fails when one of them cannot be read, which is a mistake on the command line.
func ReadAll(paths []string) ([]Script, error) {
	var sources []Script
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, exit.Misconfigured("give the path of a workflow script, a .ts or .js file", "read workflow: %v", err)
		}
		sources = append(sources, Script{path, text})
	}
	return sources, nil
}

// CheckText refuses what is no UTF-8: on its way to an engine other bytes would be replaced in silence.
func (s Script) CheckText() error {
	if utf8.Valid(s.Text) {
		return nil
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(s.Text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	before := s.Text[:at]
	line, column := 1+bytes.Count(before, []byte("\n")), at-bytes.LastIndexByte(before, '\n')
	return exit.Failed("save it as UTF-8; nothing was changed",
		fmt.Errorf("%s:%d: byte %d of the line, 0x%02x, is no UTF-8", term.Path(s.Path), line, column, s.Text[at]))
}

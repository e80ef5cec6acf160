package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// source is a script file as it was read.
type source struct {
	path string // absolute
	text []byte
}

func (s source) name() string { return filepath.Base(s.path) }

// readSource reads the script at path, which must be UTF-8.
func readSource(path string) (source, error) {
	sources, err := readSources([]string{path})
	if err != nil {
		return source{}, err
	}
	return sources[0], sources[0].checkText()
}

// readSources reads files as they are: only the path is the command line's fault.
func readSources(paths []string) ([]source, error) {
	var sources []source
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, exit.Misconfigured("give the path of a workflow script, a .ts or .js file", "read workflow: %v", err)
		}
		sources = append(sources, source{path, text})
	}
	return sources, nil
}

// checkText refuses what is no UTF-8: on its way to an engine other bytes would be replaced in silence.
func (s source) checkText() error {
	if utf8.Valid(s.text) {
		return nil
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(s.text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	before := s.text[:at]
	line, column := 1+bytes.Count(before, []byte("\n")), at-bytes.LastIndexByte(before, '\n')
	return exit.Failed("save it as UTF-8; nothing was changed",
		fmt.Errorf("%s:%d: byte %d of the line, 0x%02x, is no UTF-8", shown(s.path), line, column, s.text[at]))
}

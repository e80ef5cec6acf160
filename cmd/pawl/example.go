package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pawl-run/pawl/sandbox"
)

//go:embed example/mail-to-sheet.ts example/inbox
var exampleFiles embed.FS

const (
	exampleDir    = "pawl-example"
	exampleScript = "mail-to-sheet.ts"
	exampleSheet  = "reports.csv"
)

// example is the bundled workflow with its inbox and sheets, on disk.
type example struct {
	dir string
	// written counts the files that were not there before.
	written int
}

func (e example) script() string { return filepath.Join(e.dir, exampleScript) }
func (e example) inbox() string  { return filepath.Join(e.dir, "inbox") }
func (e example) sheets() string { return filepath.Join(e.dir, "sheets") }
func (e example) sheet() string  { return filepath.Join(e.sheets(), exampleSheet) }

// writeExample puts the example into dir. Files that exist stay as they are: they are the user's now.
func writeExample(dir string) (example, error) {
	e := example{dir: dir}
	// A Maildir has these three folders; an empty one cannot be embedded.
	for _, folder := range []string{"inbox/new", "inbox/cur", "inbox/tmp", "sheets"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(folder)), 0o755); err != nil {
			return e, fmt.Errorf("write example: %w", err)
		}
	}
	if err := e.put("pawl.d.ts", []byte(sandbox.Typings)); err != nil {
		return e, err
	}
	err := fs.WalkDir(exampleFiles, "example", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := exampleFiles.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("example", filepath.FromSlash(name))
		if err != nil {
			return err
		}
		if path.Dir(path.Dir(name)) == "example/inbox" && e.delivered(filepath.Base(rel)) {
			return nil
		}
		return e.put(rel, content)
	})
	return e, err
}

// delivered reports whether a mail is there already, wherever a mail program has moved it and
// whatever flags it has got.
func (e example) delivered(name string) bool {
	id, _, _ := strings.Cut(name, "!2,")
	for _, folder := range []string{"new", "cur"} {
		if found, err := filepath.Glob(filepath.Join(e.inbox(), folder, id+"*")); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// put writes a file unless it exists.
func (e *example) put(name string, content []byte) error {
	file, err := os.OpenFile(filepath.Join(e.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write example: %w", err)
	}
	e.written++
	if _, err := file.Write(content); err != nil {
		return fmt.Errorf("write example: %w", errors.Join(err, file.Close()))
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write example: %w", err)
	}
	return nil
}

package example

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Files are the examples as they are bundled: the script that runs and the mails of its inbox, a script to read, and
// the tests of both.
//
//go:embed mail-to-sheet.ts mail-to-sheet.test.ts webhook-to-chat.ts webhook-to-chat.test.ts inbox
var Files embed.FS

const (
	Dir    = "pawl-example"
	script = "mail-to-sheet.ts"
	sheet  = "reports.csv"

	concurrent = "webhook-to-chat.ts"
)

// Example is the bundled workflow with its inbox and sheets, on disk.
type Example struct {
	dir string
	// written counts the files that were not there before.
	written int
}

func (e Example) Script() string { return filepath.Join(e.dir, script) }
func (e Example) Inbox() string  { return filepath.Join(e.dir, "inbox") }
func (e Example) Sheets() string { return filepath.Join(e.dir, "sheets") }
func (e Example) Sheet() string  { return filepath.Join(e.Sheets(), sheet) }

// Concurrent is the script that is written beside the other one, and not run.
func (e Example) Concurrent() string { return filepath.Join(e.dir, concurrent) }

// Write writes the example into dir, and the files of beside, which has their contents by name. Files that exist stay
// as they are: they are the user's now.
func Write(dir string, beside map[string]string) (Example, error) {
	e := Example{dir: dir}
	// A Maildir has these three folders; an empty one cannot be embedded.
	for _, folder := range []string{"inbox/new", "inbox/cur", "inbox/tmp", "sheets"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(folder)), 0o755); err != nil {
			return e, fmt.Errorf("write example: %w", err)
		}
	}
	for name, content := range beside {
		if err := e.put(name, []byte(content)); err != nil {
			return e, err
		}
	}
	err := fs.WalkDir(Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := Files.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Dir(path.Dir(name)) == "inbox" && e.delivered(path.Base(name)) {
			return nil
		}
		return e.put(filepath.FromSlash(name), content)
	})
	return e, err
}

// delivered reports whether a mail is there already, also where a mail program has moved it or changed its flags.
func (e Example) delivered(name string) bool {
	id, _, _ := strings.Cut(name, "!2,")
	for _, folder := range []string{"new", "cur"} {
		if found, err := filepath.Glob(filepath.Join(e.Inbox(), folder, id+"*")); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// put writes a file unless it exists.
func (e *Example) put(name string, content []byte) error {
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

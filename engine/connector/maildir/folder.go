package maildir

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// mailFile is where a mail lies.
type mailFile struct {
	// id is the file's name without the flags, which change.
	id string
	// path is relative to the root.
	path string
	// delivered is the number at the beginning of the id, seconds since 1970 in a Maildir, else 0.
	delivered int64
}

func newMailFile(folder, name string) mailFile {
	id := idOf(name)
	digits := len(id) - len(strings.TrimLeft(id, "0123456789"))
	delivered := int64(0)
	// A Maildir name is <seconds>.<unique>.<host>; other names sort as text only.
	if digits > 0 && strings.HasPrefix(id[digits:], ".") && !strings.EqualFold(filepath.Ext(id), ".eml") {
		delivered, _ = strconv.ParseInt(id[:digits], 10, 64) // too long a number counts as its limit
	}
	return mailFile{id: id, path: filepath.Join(folder, name), delivered: delivered}
}

func (m mailFile) compare(other mailFile) int {
	return cmp.Or(cmp.Compare(m.delivered, other.delivered), cmp.Compare(m.id, other.id))
}

// idOf strips a Maildir's flags: `:2,S`, or with the separators used where colons are not allowed.
func idOf(name string) string {
	for _, separator := range []string{":2,", ";2,", "!2,"} {
		if at := strings.LastIndex(name, separator); at > 0 {
			return name[:at]
		}
	}
	return name
}

// files lists the mails of a folder ("new", "cur" or "both") in delivery order. In a folder without
// new and cur it lists the .eml files, which count as both.
func (c *Connector) files(folder string) ([]mailFile, *eventlog.Failure) {
	folders := []string{"cur", "new"} // cur first: a mail in both is being moved there
	if folder != "both" {
		folders = []string{folder}
	}
	isMaildir := false
	for _, name := range []string{"cur", "new"} {
		info, err := c.dir.Root.Stat(name)
		switch {
		case err == nil && info.IsDir():
			isMaildir = true
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, c.dir.Failure("look at", name, err)
		}
	}
	if !isMaildir {
		folders = []string{"."}
	}
	var files []mailFile
	seen := make(map[string]bool)
	for _, folder := range folders {
		entries, err := c.readDir(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a Maildir just being made
		}
		if err != nil {
			return nil, c.dir.Failure("list", folder, err)
		}
		for _, entry := range entries {
			name := entry.Name()
			if strings.HasPrefix(name, ".") || !entry.Type().IsRegular() ||
				(!isMaildir && !strings.EqualFold(filepath.Ext(name), ".eml")) {
				continue
			}
			if file := newMailFile(folder, name); !seen[file.id] {
				seen[file.id] = true
				files = append(files, file)
			}
		}
	}
	slices.SortFunc(files, mailFile.compare)
	return files, nil
}

func (c *Connector) readDir(name string) ([]os.DirEntry, error) {
	folder, err := c.dir.Root.Open(name)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.ReadDir(-1)
}

// find returns where the mail with this id lies now.
func (c *Connector) find(id string) (mailFile, *eventlog.Failure) {
	if strings.ContainsAny(id, "/\\\x00") || strings.HasPrefix(id, ".") {
		return mailFile{}, c.dir.Fail(eventlog.Logic, "outside", "%q is not the id of a mail", id)
	}
	files, failure := c.files("both")
	if failure != nil {
		return mailFile{}, failure
	}
	// An id with flags is a file name somebody kept: it means the same mail.
	at, found := slices.BinarySearchFunc(files, newMailFile("", id), mailFile.compare)
	if !found {
		return mailFile{}, c.dir.Fail(eventlog.Precondition, "missing", "there is no mail %q (any more)", id)
	}
	return files[at], nil
}

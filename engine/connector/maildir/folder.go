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
	id string
	// path is relative to the root.
	path string
	// delivered is the number at the beginning of the id, seconds since 1970 in a Maildir, else 0.
	delivered int64
}

// placeOf is where the mail with this id stands in a list: the id alone decides, so a mail that is
// gone still has its place.
func placeOf(id string) mailFile {
	digits := len(id) - len(strings.TrimLeft(id, "0123456789"))
	delivered := int64(0)
	// A Maildir name is <seconds>.<unique>.<host>; other names sort as text only.
	if digits > 0 && strings.HasPrefix(id[digits:], ".") && !strings.EqualFold(filepath.Ext(id), ".eml") {
		delivered, _ = strconv.ParseInt(id[:digits], 10, 64) // too long a number counts as its limit
	}
	return mailFile{id: id, delivered: delivered}
}

func (m mailFile) compare(other mailFile) int {
	return cmp.Or(cmp.Compare(m.delivered, other.delivered), cmp.Compare(m.id, other.id))
}

// position finds the place of an id in sorted mails. An id with flags that no mail has is a file name
// a person kept: it means the same mail.
func position(files []mailFile, id string) (int, bool) {
	at, found := slices.BinarySearchFunc(files, placeOf(id), mailFile.compare)
	if !found && !strings.Contains(id, "/") {
		at, found = slices.BinarySearchFunc(files, placeOf(idOf(id)), mailFile.compare)
	}
	return at, found
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
			if strings.HasPrefix(name, ".") || (!isMaildir && !strings.EqualFold(filepath.Ext(name), ".eml")) {
				continue
			}
			if entry.Type()&fs.ModeSymlink != 0 {
				c.links.leftOut(filepath.Join(folder, name))
			}
			if !entry.Type().IsRegular() {
				continue
			}
			file := placeOf(idOf(name))
			if file.path = filepath.Join(folder, name); !seen[file.id] {
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
	if !isID(id) {
		return mailFile{}, c.dir.Fail(eventlog.Logic, "outside", "%q is not the id of a mail", id)
	}
	files, failure := c.files("both")
	if failure != nil {
		return mailFile{}, failure
	}
	at, found := position(files, id)
	if !found {
		return mailFile{}, c.dir.Fail(eventlog.Precondition, "missing", "there is no mail %q (any more)", id)
	}
	return files[at], nil
}

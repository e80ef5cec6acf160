package files

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// entry is one file or folder of a list.
type entry struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Type is "file", "folder" or "other" (links, pipes, devices).
	Type     string `json:"type"`
	Size     int64  `json:"size"`
	Modified string `json:"modified"`
}

// unnamed are entries whose names are not UTF-8. A path is JSON text, so there is none that leads to
// them, and one that only looks like theirs would name nothing or another file.
type unnamed struct {
	Count int `json:"count"`
	// Names are the first of them, each byte that is no text written as \xE9.
	Names []string `json:"names"`
}

type listResult struct {
	Entries []entry  `json:"entries"`
	Unnamed *unnamed `json:"unnamed,omitempty"`
}

func (c *Connector) list(params json.RawMessage) (any, *eventlog.Failure) {
	p := struct {
		Path    string `json:"path"`
		Pattern string `json:"pattern"`
	}{Path: "."}
	if failure := connector.DecodeParams(params, &p); failure != nil {
		return nil, failure
	}
	found, nameless, failure := c.scan(p.Path, p.Pattern)
	if failure != nil {
		return nil, failure
	}
	if len(found) > maxEntries {
		return nil, c.dir.Fail(eventlog.Precondition, "tooMany",
			"%s has %d matching entries, the limit is %d: use a pattern or sub-folders", p.Path, len(found), maxEntries)
	}
	entries := make([]entry, 0, len(found))
	for _, f := range found {
		entries = append(entries, entry{
			Name: f.info.Name(), Path: f.path, Type: typeOf(f.info.Mode()),
			Size: f.info.Size(), Modified: timestamp(f.info.ModTime()),
		})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.Name, b.Name) })
	return listResult{entries, newUnnamed(nameless)}, nil
}

// found is what lies at a path.
type found struct {
	path string
	info fs.FileInfo
}

// scan looks into a folder for what matches the pattern, in no order. It gives the names apart that are not UTF-8.
func (c *Connector) scan(folder, pattern string) (all []found, nameless []string, failure *eventlog.Failure) {
	name, failure := c.dir.Clean(folder)
	if failure != nil {
		return nil, nil, failure
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, nil, c.dir.Fail(eventlog.Logic, "pattern", "%q is not a pattern; use *, ? and [a-z], e.g. *.txt",
			pattern)
	}
	opened, err := c.dir.Root.Open(name)
	if err != nil {
		return nil, nil, c.dir.Failure("open", name, err)
	}
	defer opened.Close()
	entries, err := opened.ReadDir(-1)
	if err != nil {
		return nil, nil, c.dir.Failure("list", name, err)
	}
	for _, f := range entries {
		matches, _ := path.Match(pattern, f.Name()) // the pattern was checked
		if strings.HasPrefix(f.Name(), ".pawl") || (pattern != "" && !matches) {
			continue
		}
		if !utf8.ValidString(f.Name()) {
			nameless = append(nameless, f.Name())
			continue
		}
		if info, err := f.Info(); err == nil { // else it was removed since
			all = append(all, found{path.Join(filepath.ToSlash(name), f.Name()), info})
		}
	}
	return all, nameless, nil
}

// newUnnamed describes entries without a usable name, or is nil if there are none.
func newUnnamed(names []string) *unnamed {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	u := &unnamed{Count: len(names)}
	for _, name := range names[:min(len(names), maxUnnamed)] {
		u.Names = append(u.Names, escaped(name))
	}
	return u
}

// escaped writes every byte of a name that is no text as \xE9.
func escaped(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02X`, name[i])
		} else {
			out.WriteString(name[i : i+size])
		}
		i += size
	}
	return out.String()
}

func typeOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "folder"
	default:
		return "other"
	}
}

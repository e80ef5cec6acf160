package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

	raw []string
}

type listResult struct {
	Entries []entry  `json:"entries"`
	Unnamed *unnamed `json:"unnamed,omitempty"`
}

func (c *Connector) list(ctx context.Context, call connector.Call) (any, *eventlog.Failure) {
	p := struct {
		Path    string `json:"path"`
		Pattern string `json:"pattern"`
	}{Path: "."}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return nil, failure
	}
	entries := []entry{}
	nameless, failure := c.scan(ctx, call, p.Path, p.Pattern, func(path string, info fs.FileInfo) *eventlog.Failure {
		if len(entries) == maxEntries {
			return c.dir.Fail(eventlog.Precondition, "tooMany",
				"%s has more than %d matching entries, the limit: use a pattern or sub-folders", p.Path, maxEntries)
		}
		entries = append(entries, entry{Name: info.Name(), Path: path, Type: typeOf(info.Mode()), Size: info.Size(),
			Modified: timestamp(info.ModTime())})
		return nil
	})
	if failure != nil {
		return nil, failure
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.Name, b.Name) })
	return listResult{entries, nameless}, nil
}

// batch is how many names of a folder are read at once.
const batch = 256

// scan shows what matches the pattern in a folder, in no order, until show fails or the call's time is over. However
// many entries the folder has, a batch of them is in memory. It gives the names apart that are not UTF-8.
func (c *Connector) scan(ctx context.Context, call connector.Call, folder, pattern string,
	show func(path string, info fs.FileInfo) *eventlog.Failure) (*unnamed, *eventlog.Failure) {
	name, failure := c.dir.Clean(folder)
	if failure != nil {
		return nil, failure
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, c.dir.Fail(eventlog.Logic, "pattern", "%q is not a pattern; use *, ? and [a-z], e.g. *.txt", pattern)
	}
	opened, err := c.dir.Root.Open(name)
	if err != nil {
		return nil, c.dir.Failure("open", name, err)
	}
	defer opened.Close()
	var nameless *unnamed
	for {
		entries, err := opened.ReadDir(batch)
		for _, f := range entries {
			if failure := connector.ContextFailure(ctx, call); failure != nil {
				return nil, failure
			}
			matches, _ := path.Match(pattern, f.Name()) // the pattern was checked
			if strings.HasPrefix(f.Name(), ".pawl") || (pattern != "" && !matches) {
				continue
			}
			if !utf8.ValidString(f.Name()) {
				nameless = nameless.with(f.Name())
				continue
			}
			info, err := f.Info()
			if err != nil {
				continue // it was removed since
			}
			if failure := show(path.Join(filepath.ToSlash(name), f.Name()), info); failure != nil {
				return nil, failure
			}
		}
		if errors.Is(err, io.EOF) {
			return nameless, nil
		}
		if err != nil {
			return nil, c.dir.Failure("list", name, err)
		}
	}
}

// with is u and one more name; no names at all are nil. The first are kept, by their bytes.
func (u *unnamed) with(name string) *unnamed {
	if u == nil {
		u = &unnamed{}
	}
	u.Count++
	at, _ := slices.BinarySearch(u.raw, name)
	u.raw = slices.Insert(u.raw, at, name)
	u.raw = u.raw[:min(len(u.raw), maxUnnamed)]
	u.Names = u.Names[:0]
	for _, name := range u.raw {
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

package files

import (
	"cmp"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// defaultSettled is for how long a file must not have changed before watch shows it: before, it may be half written.
const defaultSettled = 5

// maxPlainPath is the most bytes of a path that stands in an id as it is.
const maxPlainPath = 400

// watched is one file as watch shows it.
type watched struct {
	// ID is another one when the file has changed: each of its states is one event.
	ID       string `json:"id"`
	Name     string `json:"name"`
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Modified string `json:"modified"`

	at int64
}

type watchResult struct {
	Files []watched `json:"files"`
	// Next is the `after` of the next page, null at the end.
	Next *string `json:"next"`
}

// watch lists the regular files of a folder that have not changed for a while, the longest unchanged first.
func (c *Connector) watch(ctx context.Context, call connector.Call) (any, *eventlog.Failure) {
	p := struct {
		Path    string `json:"path"`
		Pattern string `json:"pattern"`
		Settled int    `json:"settled"`
		After   string `json:"after"`
		Limit   int    `json:"limit"`
	}{Path: ".", Settled: defaultSettled, Limit: 100}
	if failure := connector.DecodeParams(call.Params, &p); failure != nil {
		return nil, failure
	}
	after, failure := c.placeOf(p.After)
	if failure != nil {
		return nil, failure
	}
	// The time is asked before the folder is looked at: what changes while it is looked at has not come to rest.
	var rested time.Time
	if p.Settled > 0 {
		rested = c.clock().Add(-time.Duration(p.Settled) * time.Second)
	}
	first := earliest{}
	_, failure = c.scan(ctx, call, p.Path, p.Pattern, func(path string, info fs.FileInfo) *eventlog.Failure {
		modified := info.ModTime()
		if !info.Mode().IsRegular() || p.Settled > 0 && modified.After(rested) {
			return nil
		}
		at := modified.UnixNano()
		w := watched{ID: watchID(at, info.Size(), path), Name: info.Name(), Path: path, Size: info.Size(),
			Modified: timestamp(modified), at: at}
		if p.After == "" || w.compare(after) > 0 {
			first.keep(w, p.Limit+1) // one more says that there is a next page
		}
		return nil
	})
	if failure != nil {
		return nil, failure
	}
	slices.SortFunc(first, watched.compare)
	result := watchResult{Files: first}
	size := 0
	for i, f := range first {
		size += len(f.ID) + len(f.Name) + len(f.Path) + 200
		if i > 0 && (i == p.Limit || size > connector.PageBytes) {
			result.Files, result.Next = first[:i], &first[i-1].ID
			break
		}
	}
	return result, nil
}

// earliest is a heap of the first files of a page, with the last of them on top. However many files a folder has, no
// more than a page of them is in memory.
type earliest []watched

func (e earliest) Len() int           { return len(e) }
func (e earliest) Less(i, j int) bool { return e[i].compare(e[j]) > 0 }
func (e earliest) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push is for container/heap: use keep.
func (e *earliest) Push(w any) { *e = append(*e, w.(watched)) }

// Pop is for container/heap: use keep.
func (e *earliest) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// keep adds a file if it is one of the first so many.
func (e *earliest) keep(w watched, most int) {
	if len(*e) < most {
		heap.Push(e, w)
	} else if w.compare((*e)[0]) < 0 {
		(*e)[0] = w
		heap.Fix(e, 0)
	}
}

// compare orders files by their time, then by their id: the place of one depends on nothing but its id.
func (w watched) compare(other watched) int {
	return cmp.Or(cmp.Compare(w.at, other.at), cmp.Compare(w.ID, other.ID))
}

// watchID is the id of a file in this state. It is fit for an event's messageId, which has no control characters and
// at most 512 bytes: a path that is not stands as its hash.
func watchID(at, size int64, path string) string {
	if len(path) > maxPlainPath || strings.ContainsFunc(path, unicode.IsControl) {
		sum := sha256.Sum256([]byte(path))
		path = "/" + hex.EncodeToString(sum[:16]) // no path begins with a slash
	}
	return fmt.Sprintf("%d.%d.%s", at, size, path)
}

// placeOf is where the file with this id stands; it may be gone.
func (c *Connector) placeOf(id string) (watched, *eventlog.Failure) {
	if id == "" {
		return watched{}, nil
	}
	digits, _, found := strings.Cut(id, ".")
	at, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !found {
		return watched{}, c.dir.Fail(eventlog.Logic, "after", "%q is not the id of a file that watch has shown", id)
	}
	return watched{ID: id, at: at}, nil
}

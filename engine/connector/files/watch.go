package files

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// pageBytes ends a page before its result grows beyond what one call may return.
const pageBytes = connector.MaxResult * 3 / 4

// watch lists the regular files of a folder that have not changed for a while, the longest unchanged first.
func (c *Connector) watch(params json.RawMessage, now time.Time) (any, *eventlog.Failure) {
	p := struct {
		Path    string `json:"path"`
		Pattern string `json:"pattern"`
		Settled int    `json:"settled"`
		After   string `json:"after"`
		Limit   int    `json:"limit"`
	}{Path: ".", Settled: defaultSettled, Limit: 100}
	if failure := connector.DecodeParams(params, &p); failure != nil {
		return nil, failure
	}
	after, failure := c.placeOf(p.After)
	if failure != nil {
		return nil, failure
	}
	all, _, failure := c.scan(p.Path, p.Pattern)
	if failure != nil {
		return nil, failure
	}
	files := []watched{}
	settled := time.Duration(p.Settled) * time.Second
	for _, f := range all {
		// A clock that is ahead, as that of a file server may be, makes a file no older than it is.
		if !f.info.Mode().IsRegular() || now.Sub(f.info.ModTime()).Abs() < settled {
			continue
		}
		at := f.info.ModTime().UnixNano()
		w := watched{ID: watchID(at, f.info.Size(), f.path), Name: f.info.Name(), Path: f.path, Size: f.info.Size(),
			Modified: timestamp(f.info.ModTime()), at: at}
		if p.After == "" || w.compare(after) > 0 {
			files = append(files, w)
		}
	}
	slices.SortFunc(files, watched.compare)
	result := watchResult{Files: files}
	size := 0
	for i, f := range files {
		size += len(f.ID) + len(f.Name) + len(f.Path) + 200
		if i > 0 && (i == p.Limit || size > pageBytes) {
			result.Files, result.Next = files[:i], &files[i-1].ID
			break
		}
	}
	return result, nil
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

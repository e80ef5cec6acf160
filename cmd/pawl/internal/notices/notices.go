package notices

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// QuietTime is how long there must be no notice before files are read: a file is seldom written at once.
const QuietTime = 150 * time.Millisecond

// longestFlurry is how long notices may hold up a look.
const longestFlurry = 5 * time.Second

// Open asks the system to tell of changes. The function that it returns ends that.
func Open() (Follower, func() error, error) {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return Follower{}, nil, err
	}
	return Follower{Folders: system, Events: system.Events, Errors: system.Errors}, system.Close, nil
}

// Follower tells that files may have changed. Folders are watched and not the files, because editors
// and tools put another file, link or folder in the place of the old one.
type Follower struct {
	Files   []string // absolute
	Folders Folders
	Events  <-chan fsnotify.Event
	Errors  <-chan error
	// Failed is told when notices may be missing.
	Failed func(error)

	// places are where a change may change what the files hold.
	places []string
}

// Folders is the part of a *fsnotify.Watcher that says what is watched.
type Folders interface {
	Add(folder string) error
	Remove(folder string) error
	WatchList() []string
}

// Follow calls look at once, for what has changed while the files were not watched, and then after each flurry
// of notices, until ctx ends. A file that never comes to rest is looked at from time to time.
func (n *Follower) Follow(ctx context.Context, look func()) {
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	var first time.Time // of the flurry; zero while there is none
	heard := func() {
		if first.IsZero() {
			first = time.Now()
		}
		quiet.Reset(min(QuietTime, time.Until(first.Add(longestFlurry))))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-n.Events:
			if !ok {
				return
			}
			if n.concerns(event) {
				heard()
			}
		case err, ok := <-n.Errors:
			if !ok {
				return
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) { // then a look finds what was missed
				n.Failed(err)
			}
			heard()
		case <-quiet.C:
			first = time.Time{}
			n.watch()
			look()
		}
	}
}

func (n *Follower) concerns(event fsnotify.Event) bool {
	name := filepath.Clean(event.Name)
	return slices.ContainsFunc(n.places, func(place string) bool {
		// Some systems do not tell names by their case, and tell of them as they were created.
		return strings.EqualFold(name, place) ||
			name == filepath.Dir(place) && (event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename))
	})
}

// maxRounds bounds how often the way to the files is looked at while it keeps changing.
const maxRounds = 10

// watch watches the folders on the way to the files as it is now. Later changes are reported.
func (n *Follower) watch() {
	var watched []string
	for range maxRounds {
		n.places = n.places[:0]
		var wanted []string
		for _, file := range n.Files {
			for _, place := range route(file) {
				n.places = append(n.places, place)
				wanted = append(wanted, filepath.Dir(place))
			}
		}
		slices.Sort(wanted)
		wanted = slices.Compact(wanted)
		if slices.Equal(wanted, watched) {
			break // the way is still the one that is watched
		}
		watched = wanted
		for _, folder := range wanted {
			err := n.Folders.Add(folder)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				watched = nil // it has just gone
			case err != nil:
				n.Failed(fmt.Errorf("watch %s: %w", folder, err))
			}
		}
	}
	for _, folder := range n.Folders.WatchList() {
		if watched != nil && !slices.Contains(watched, folder) {
			_ = n.Folders.Remove(folder) // the only error is that it is gone already
		}
	}
}

// maxLinks bounds the symbolic links on the way to a file, which may run in a circle.
const maxLinks = 255

// route lists where a change may change what a path leads to: its symbolic links, one after the
// other, and the file, or the name at which the way ends. The folders of all of them exist.
func route(path string) []string {
	var places []string
	at, rest := splitRoot(path)
	for links := 0; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, string(filepath.Separator))
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			return append(places, next)
		case info.Mode()&fs.ModeSymlink != 0:
			places = append(places, next)
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				return places
			}
			if filepath.IsAbs(target) {
				at, target = splitRoot(target)
			}
			rest = filepath.FromSlash(target) + string(filepath.Separator) + rest
		case strings.Trim(rest, string(filepath.Separator)) == "":
			return append(places, next)
		default:
			at = next
		}
	}
	return places
}

// splitRoot splits an absolute path behind its root.
func splitRoot(path string) (root, rest string) {
	root = filepath.VolumeName(path) + string(filepath.Separator)
	return root, strings.TrimPrefix(path[len(root)-1:], string(filepath.Separator))
}

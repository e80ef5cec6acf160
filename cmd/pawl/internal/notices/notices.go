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

// longestBurst is how long notices that follow each other may delay a look.
const longestBurst = 5 * time.Second

// Open asks the system to report changes. The function that it returns ends that.
func Open() (Follower, func() error, error) {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return Follower{}, nil, err
	}
	return Follower{Folders: system, Events: system.Events, Errors: system.Errors}, system.Close, nil
}

// Follower finds out when files may have changed. It watches folders and not the files, because editors and tools put
// another file, link or folder in the place of the old one.
type Follower struct {
	Files   []string // absolute
	Folders Folders
	Events  <-chan fsnotify.Event
	Errors  <-chan error
	// Failed is called when notices may be missing.
	Failed func(error)

	// places are the paths at which a change may change the content of the files.
	places []string
}

// Folders is the part of a *fsnotify.Watcher that says what is watched.
type Folders interface {
	Add(folder string) error
	Remove(folder string) error
	WatchList() []string
}

// Follow calls look at once, since files may have changed while they were not watched, and then after each burst of
// notices, until ctx ends. While notices do not stop, it calls look from time to time.
func (n *Follower) Follow(ctx context.Context, look func()) {
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	var first time.Time // the beginning of the burst; zero while there is none
	heard := func() {
		if first.IsZero() {
			first = time.Now()
		}
		quiet.Reset(min(QuietTime, time.Until(first.Add(longestBurst))))
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
			if !errors.Is(err, fsnotify.ErrEventOverflow) { // after an overflow, a look finds what was missed
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
		// Some systems ignore the case of names, and report each name as it was created.
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
			break // the links have not changed while the folders were added
		}
		watched = wanted
		for _, folder := range wanted {
			err := n.Folders.Add(folder)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				watched = nil // the folder was removed a moment ago
			case err != nil:
				n.Failed(fmt.Errorf("watch %s: %w", folder, err))
			}
		}
	}
	for _, folder := range n.Folders.WatchList() {
		if watched != nil && !slices.Contains(watched, folder) {
			_ = n.Folders.Remove(folder) // it fails only for a folder that is not watched any more
		}
	}
}

// maxLinks bounds the symbolic links on the way to a file, which may run in a circle.
const maxLinks = 255

// route lists the places at which a change may change what a path leads to: its symbolic links, one after the other,
// and the file, or the first name that does not exist. The folders of all of them exist.
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

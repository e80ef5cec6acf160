package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog"
)

// Reader comes to the settings of one command line.
type Reader struct {
	Flags Common
	// Env looks up a variable of the environment.
	Env func(name string) (value string, ok bool)
	// Home is where the command keeps data when it is not said where and there is none here; empty means with
	// the user's state.
	Home string
	// HTTP is the address of an engine that is told none; empty means defaultHTTP.
	HTTP string
}

// DataDir is the data directory; every command uses this rule. First the one that is named, then .pawl in the
// working directory if that or pawl.yaml exists there, then the command's own default (Home), then the user's state
// directory.
func (r Reader) DataDir(configured string) string {
	if named := cmp.Or(r.Flags.Data, configured); named != "" {
		return named
	}
	if exists(DefaultData) || exists(FileName) {
		return DefaultData
	}
	return cmp.Or(r.Home, stateHome(r.Env))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// CheckMoved refuses to begin anew in this folder while the user's state directory holds a log: an engine that was
// started in a folder with pawl.yaml and nothing else once kept its data there, and must not do its work again.
func (r Reader) CheckMoved(data string) error {
	here, err := filepath.Abs(DefaultData)
	if err != nil {
		return exit.Failed("", err)
	}
	before := stateHome(r.Env)
	if data != here || exists(DefaultData) || !exists(filepath.Join(before, "jetstream")) {
		return nil
	}
	return exit.Misconfigured(
		fmt.Sprintf("to go on with that data, write this into %s: data: %s; to begin anew: mkdir %s", FileName, before, DefaultData),
		"%s holds the data of an engine, and this folder has a %s and no data of its own", before, FileName)
}

// As is the name that the caller claims when nothing else is said.
func (r Reader) As() string {
	for _, name := range []string{"PAWL_AS", "USER", "USERNAME"} {
		if value, ok := r.Env(name); ok && value != "" {
			return value
		}
	}
	return ""
}

// stateHome is where an engine keeps its data that was not told where.
func stateHome(env func(string) (string, bool)) string {
	if dir, ok := env("XDG_STATE_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "pawl")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "pawl")
	}
	return DefaultData
}

// ActorNamed is the user of that name; empty is one of whom nothing is known.
func ActorNamed(name string) eventlog.Actor {
	if name != "" {
		return eventlog.Actor{Kind: "user", Name: name}
	}
	return eventlog.Actor{Kind: "api", Name: "anonymous"}
}

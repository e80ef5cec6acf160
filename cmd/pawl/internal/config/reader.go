package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

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
// working directory if it exists, then the command's own default (Home), then the user's state directory.
func (r Reader) DataDir(configured string) string {
	if named := cmp.Or(r.Flags.Data, configured); named != "" {
		return named
	}
	if _, err := os.Stat(DefaultData); !errors.Is(err, fs.ErrNotExist) {
		return DefaultData
	}
	return cmp.Or(r.Home, stateHome(r.Env))
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

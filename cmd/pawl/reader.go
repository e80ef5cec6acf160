package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// reader comes to the settings of one command line.
type reader struct {
	Flags common
	// Env looks up a variable of the environment.
	Env func(name string) (value string, ok bool)
	// Home is where the command keeps data when it is not said where and there is none here; empty means with
	// the user's state.
	Home string
	// HTTP is the address of an engine that is told none; empty means defaultHTTP.
	HTTP string
}

// dataDir is the data directory; every command uses this rule. First the one that is named, then .pawl in the
// working directory if it exists, then the command's own default (Home), then the user's state directory.
func (r reader) dataDir(configured string) string {
	if named := first(r.Flags.Data, configured); named != "" {
		return named
	}
	if _, err := os.Stat(defaultData); !errors.Is(err, fs.ErrNotExist) {
		return defaultData
	}
	return first(r.Home, stateHome(r.Env))
}

// as is the name that the caller claims when nothing else is said.
func (r reader) as() string {
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
	return defaultData
}

// shown shortens a path for people: relative to the working directory where it lies inside.
func shown(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(dir, absolute)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return "." + string(filepath.Separator) + rel
}

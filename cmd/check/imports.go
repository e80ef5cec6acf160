package main

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// matches says whether a pattern names the folder of the module or the import path: `x` is x alone, `x/...` is x and
// all below it.
func matches(pattern, name string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == tree || strings.HasPrefix(name, tree+"/")
	}
	return name == pattern
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// restrictions keep a library in the folders that are there to hide it. Tests are free.
var restrictions = []struct {
	library string
	folders []string
}{
	{"github.com/nats-io/nats.go/...", []string{"eventlog/jslog/...", "embeddednats/...", "ops/...",
		"engine/connector/natsservice/...", "engine/peer", "engine/runlog/...", "cmd/..."}},
	{"github.com/nats-io/nats-server/v2/...", []string{"embeddednats/...", "cmd/..."}},
	{"github.com/dop251/goja/...", []string{"sandbox/script", "sandbox/lint/...", "sandbox/vm/..."}},
	{"github.com/evanw/esbuild/...", []string{"sandbox/script"}},
	{"github.com/tdewolff/parse/v2/...", []string{"sandbox/amend"}},
	{"github.com/cockroachdb/pebble/v2/...", []string{"projections/store/..."}},
}

// testLibraries belong into tests and into folders whose name ends in "test".
var testLibraries = []string{
	"testing/...", "net/http/httptest", "github.com/google/go-cmp/...", "github.com/rogpeppe/go-internal/...",
	"pgregory.net/rapid/...", "go.uber.org/goleak", "github.com/cockroachdb/datadriven",
	"github.com/anishathalye/porcupine",
}

// pureImports are what no pure folder imports from the standard library. The eventlog alone may
// name context: the Log interface needs it.
var pureImports = []string{"context", "crypto/rand", "log/...", "math/rand/...", "net/...", "os/...", "syscall",
	"time/tzdata"}

var pureExceptions = map[string][]string{
	"eventlog":        {"context"},
	"engine/schedule": {"time/tzdata"}, // zones are its subject
}

// imports checks what every file imports, and what pure folders call.
func (t *tree) imports() []string {
	var found []string
	for _, f := range t.files {
		if f.syntax == nil {
			continue
		}
		rules, ok := layerOf(f.folder)
		if !ok {
			found = append(found,
				fmt.Sprintf("%s: folder %s has no place in the layers; add it to the table in cmd/check/layers.go", f.path,
					f.folder))
			continue
		}
		for _, spec := range f.syntax.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the file would not have parsed
			}
			if why := t.forbidden(f, rules, name); why != "" {
				found = append(found, fmt.Sprintf("%s: %s imports %s: %s", t.at(spec.Pos()), f.folder, name, why))
			}
		}
		if rules.pure && !f.test {
			found = append(found, t.impureCalls(f)...)
		}
		if !f.test && f.folder != writesFiles {
			found = append(found, t.renames(f)...)
		}
	}
	return found
}

func layerOf(folder string) (layer, bool) {
	i := slices.IndexFunc(layers, func(l layer) bool { return matches(l.folders, folder) })
	if i < 0 {
		return layer{}, false
	}
	return layers[i], true
}

// forbidden says why a file may not import something; empty means it may.
func (t *tree) forbidden(f *sourceFile, rules layer, name string) string {
	folder, ours := strings.CutPrefix(name, t.module+"/")
	if ours && matches("cmd/...", folder) && !(matches("cmd/pawl/...", folder) && matches("cmd/pawl/...", f.folder)) {
		return "no package imports cmd"
	}
	if f.test {
		return ""
	}
	if !isTestFolder(f.folder) && (matchesAny(testLibraries, name) || ours && isTestFolder(folder)) {
		return "it is for tests"
	}
	first, _, _ := strings.Cut(name, "/")
	switch {
	case ours:
		if folder != f.folder && !allows(rules.project, folder) {
			return "its layer may import of the project only " + orNothing(rules.project)
		}
	case !strings.Contains(first, "."): // the standard library
		if rules.pure && matchesAny(pureImports, name) && !slices.Contains(pureExceptions[f.folder], name) {
			return "the folder is pure: no clock, chance or outside world"
		}
	default:
		for _, r := range restrictions {
			if matches(r.library, name) && !matchesAny(r.folders, f.folder) {
				return "the library belongs in " + strings.Join(r.folders, ", ")
			}
		}
		if !allows(rules.external, name) {
			return "its layer may use of libraries only " + orNothing(rules.external)
		}
	}
	return ""
}

func allows(patterns []string, name string) bool {
	return slices.Contains(patterns, "...") || matchesAny(patterns, name)
}

func orNothing(patterns []string) string {
	if len(patterns) == 0 {
		return "none"
	}
	return strings.Join(patterns, ", ")
}

func isTestFolder(folder string) bool { return strings.HasSuffix(path.Base(folder), "test") }

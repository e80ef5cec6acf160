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

// layer says what the folders of one pattern may import in production code.
type layer struct {
	folders string
	// project are the folders of the module.
	project []string
	// external are the libraries; anyLibrary leaves them to the restrictions below.
	external []string
	// pure forbids everything through which a clock, chance or the outside world could come in: see pureImports and
	// impureCalls.
	pure bool
}

var (
	anyLibrary = []string{"..."}
	anyFolder  = []string{"..."}
)

// internals are the folders of these internal packages of cmd/pawl.
func internals(names ...string) (folders []string) {
	for _, name := range names {
		folders = append(folders, "cmd/pawl/internal/"+name)
	}
	return folders
}

// belowCommands are the libraries of the module, and these packages of cmd/pawl.
func belowCommands(names ...string) []string {
	return append(internals(names...), "eventlog/...", "projections/...", "sandbox/...", "engine/...", "embeddednats/...",
		"ops/...", "loopback")
}

// layers are tried in order, and the first that fits a folder holds for it. A layer imports only lower ones: the
// log knows nothing, the fold knows the log, decisions know the fold, the engine carries them out.
var layers = []layer{
	{folders: "loopback"},
	{folders: "eventlog/pack", external: []string{"github.com/vmihailenco/msgpack/v5"}, pure: true},
	{folders: "eventlog", project: []string{"eventlog/pack"}, external: []string{"github.com/vmihailenco/msgpack/v5/...",
		"github.com/oklog/ulid/v2", "github.com/cespare/xxhash/v2"}, pure: true},
	{folders: "eventlog/durable"},
	{folders: "eventlog/memlog", project: []string{"eventlog"}},
	{folders: "eventlog/...", project: []string{"eventlog/..."}, external: anyLibrary},
	{folders: "projections", project: []string{"eventlog"}, external: []string{"github.com/tidwall/btree"}, pure: true},
	{folders: "projections/...", project: []string{"eventlog/pack", "eventlog", "projections/..."}, external: anyLibrary},
	// The contract of scripts imports none of the packages that implement it: those compile a text, judge it, run it,
	// and run it in another process.
	{folders: "sandbox"},
	{folders: "sandbox/similar", external: anyLibrary},
	{folders: "sandbox/amend", project: []string{"sandbox"}, external: anyLibrary},
	{folders: "sandbox/cputime", external: anyLibrary},
	{folders: "sandbox/script", project: []string{"sandbox"}, external: anyLibrary},
	{folders: "sandbox/lint/onecall", project: []string{"sandbox"}},
	{folders: "sandbox/lint/flow", project: []string{"sandbox/script"}, external: anyLibrary},
	{folders: "sandbox/lint/finding", project: []string{"sandbox", "sandbox/amend", "sandbox/script"},
		external: anyLibrary},
	{folders: "sandbox/lint/global", project: []string{"sandbox", "sandbox/lint/finding", "sandbox/similar",
		"sandbox/script"}, external: anyLibrary},
	{folders: "sandbox/lint", project: []string{"sandbox", "sandbox/amend", "sandbox/similar", "sandbox/script",
		"sandbox/lint/..."}, external: anyLibrary},
	{folders: "sandbox/vm/value", project: []string{"sandbox"}, external: anyLibrary},
	{folders: "sandbox/vm/globals/intl", external: anyLibrary},
	{folders: "sandbox/vm/globals", project: []string{"sandbox", "sandbox/vm/value", "sandbox/vm/globals/intl"},
		external: anyLibrary},
	{folders: "sandbox/vm", project: []string{"sandbox", "sandbox/similar", "sandbox/cputime", "sandbox/script",
		"sandbox/lint/...", "sandbox/vm/value", "sandbox/vm/globals"}, external: anyLibrary},
	{folders: "sandbox/worker/confine", external: anyLibrary},
	{folders: "sandbox/worker/...", project: []string{"sandbox", "sandbox/cputime", "sandbox/vm",
		"sandbox/worker/confine"}, external: anyLibrary},
	{folders: "engine/schedule", project: []string{"eventlog", "sandbox"},
		external: []string{"github.com/netresearch/go-cron"}, pure: true},
	{folders: "engine/hint", pure: true},
	{folders: "engine/capability", project: []string{"eventlog"}, pure: true},
	{folders: "engine/decide/kept", project: []string{"eventlog"}, pure: true},
	{folders: "engine/decide", project: []string{"eventlog", "projections", "engine/schedule", "engine/capability",
		"engine/decide/kept", "engine/hint"}, pure: true},
	// Requests of other systems and secrets are defined without an engine.
	{folders: "engine/hook", project: []string{"eventlog", "sandbox"}},
	{folders: "engine/secret"},
	{folders: "engine/deploy", project: []string{"eventlog", "projections", "engine/schedule", "engine/capability",
		"engine/decide", "engine/decide/kept", "engine/connector", "engine/hint", "engine/hook", "sandbox", "sandbox/amend",
		"sandbox/lint", "sandbox/lint/finding", "sandbox/lint/onecall", "sandbox/similar"},
		pure: true},
	// A connector confines the process that reads hostile bytes for it, but runs no script. It reads in the contract of
	// scripts which names are reserved for scripts.
	{folders: "engine/connector/...", project: []string{"eventlog", "engine/connector/...", "engine/secret", "loopback",
		"sandbox", "sandbox/worker/confine", "sandbox/similar"}, external: anyLibrary},
	// The packages that the parts of an engine share import none of these parts.
	{folders: "engine/difference", pure: true},
	{folders: "engine/clock", external: []string{"golang.org/x/sys/unix"}},
	{folders: "engine/signal"},
	{folders: "engine/ids", external: anyLibrary},
	{folders: "engine/memory", project: []string{"projections"}},
	{folders: "engine/lease", project: []string{"engine/clock"}, external: anyLibrary},
	{folders: "engine/peer", project: []string{"eventlog"}, external: anyLibrary},
	// The engine sees the Log interface; which log it gets, JetStream or memory, is wired in cmd.
	{folders: "engine/...", project: []string{"eventlog", "eventlog/memlog", "projections/...", "sandbox/...",
		"engine/..."}, external: anyLibrary},
	{folders: "embeddednats/...", project: []string{"eventlog/durable", "embeddednats/...", "loopback"},
		external: anyLibrary},
	// The transport of calls does not know what the calls do; that is in the table of package ops.
	{folders: "ops/rpc", project: []string{"eventlog", "loopback", "sandbox"}, external: anyLibrary},
	{folders: "ops/auth", project: []string{"eventlog", "loopback", "projections", "ops/rpc"}, external: anyLibrary},
	{folders: "ops/logread", project: []string{"eventlog", "ops/rpc", "ops/auth"}, external: anyLibrary},
	{folders: "ops/explain", project: []string{"eventlog", "projections/...", "engine", "engine/capability",
		"engine/connector", "engine/decide", "engine/deploy", "engine/hint", "sandbox"}, external: anyLibrary},
	{folders: "ops/metrics", project: []string{"eventlog", "projections/...", "engine", "sandbox/worker"},
		external: anyLibrary},
	{folders: "ops/feed", project: []string{"eventlog", "ops/rpc"}, external: anyLibrary},
	{folders: "ops/replay", project: []string{"eventlog", "projections/...", "engine/memory"}, external: anyLibrary},
	{folders: "ops/ingress", project: []string{"eventlog", "engine/decide", "ops/rpc"}, external: anyLibrary},
	{folders: "ops/...", project: []string{"eventlog/...", "projections/...", "sandbox/...", "engine/...", "ops/..."},
		external: anyLibrary},
	// The commands are put together from internal packages, none of which imports a command.
	{folders: "cmd/pawl/example"},
	{folders: "cmd/pawl/internal/term",
		project:  []string{"engine/difference", "engine/hint", "eventlog", "ops/explain", "projections", "sandbox"},
		external: anyLibrary},
	{folders: "cmd/pawl/internal/notices", external: anyLibrary},
	{folders: "cmd/pawl/internal/exit", project: append([]string{"ops/rpc"}, internals("term")...)},
	{folders: "cmd/pawl/internal/datadir", project: append([]string{"eventlog/durable"}, internals("exit")...),
		external: anyLibrary},
	{
		folders: "cmd/pawl/internal/diskspace",
		project: []string{"embeddednats", "eventlog", "engine/schedule"}, external: anyLibrary,
	},
	{folders: "cmd/pawl/internal/config", project: belowCommands("exit", "term"), external: anyLibrary},
	{folders: "cmd/pawl/internal/version", project: internals("term")},
	{folders: "cmd/pawl/internal/typings", project: []string{"engine/connector", "sandbox"}},
	{folders: "cmd/pawl/internal/builtin", project: belowCommands("config", "typings"), external: anyLibrary},
	{folders: "cmd/pawl/internal/client", project: belowCommands("config", "datadir", "exit", "term"),
		external: anyLibrary},
	{folders: "cmd/pawl/internal/tools", project: belowCommands("builtin", "datadir", "exit"), external: anyLibrary},
	{
		folders:  "cmd/pawl/internal/storage",
		project:  belowCommands("config", "datadir", "diskspace", "exit", "term", "version"),
		external: anyLibrary,
	},
	{
		folders: "cmd/pawl/internal/node",
		project: belowCommands("builtin", "config", "datadir", "diskspace", "exit", "storage", "term", "tools",
			"version"),
		external: anyLibrary,
	},
	{folders: "cmd/pawl/internal/source", project: belowCommands("builtin", "config", "exit", "node", "storage", "term"),
		external: anyLibrary},
	{folders: "cmd/pawl/internal/maintain", project: []string{"eventlog/durable", "ops/rpc"}},
	{folders: "cmd/pawl/internal/guide", project: []string{"sandbox"}},
	{
		folders: "cmd/pawl/internal/starter",
		project: append([]string{"cmd/pawl/example"}, internals("guide", "typings")...),
	},
	{folders: "cmd/pawl/internal/mcpserver", project: belowCommands("builtin", "guide", "typings"),
		external: anyLibrary},
	{folders: "cmd/pawl/internal/bench", project: belowCommands("config", "datadir", "exit", "node", "storage", "term"),
		external: anyLibrary},
	// The commands under one heading import no others.
	{
		folders: "cmd/pawl/internal/commands/...",
		project: append(belowCommands("builtin", "client", "config", "datadir", "exit", "maintain", "mcpserver", "node",
			"storage",
			"notices", "source", "starter", "term", "tools", "typings", "version"), "cmd/pawl/example"),
		external: anyLibrary,
	},
	{folders: "cmd/...", project: anyFolder, external: anyLibrary},
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
				fmt.Sprintf("%s: folder %s has no place in the layers; add it to the table in cmd/check/imports.go", f.path,
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

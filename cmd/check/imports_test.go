package main

import (
	"slices"
	"strings"
	"testing"
)

// treeOf makes a tree of the module example.org/m from file texts.
func treeOf(t *testing.T, files map[string]string) *tree {
	t.Helper()
	tree := newTree("example.org/m")
	for name, text := range files {
		tree.add(name, []byte(text))
	}
	return tree
}

// one finds that a check says exactly one thing, holding all parts; without parts it must say nothing.
func one(t *testing.T, found []string, parts ...string) {
	t.Helper()
	if len(parts) == 0 {
		if len(found) != 0 {
			t.Errorf("got %q, want nothing", found)
		}
		return
	}
	if len(found) != 1 {
		t.Fatalf("got %q, want one finding with %q", found, parts)
	}
	for _, part := range parts {
		if !strings.Contains(found[0], part) {
			t.Errorf("got %q, want it to hold %q", found[0], part)
		}
	}
}

func TestImports(t *testing.T) {
	const m = "example.org/m/"
	tests := []struct {
		file, imports string
		want          string // part of the finding; empty: allowed
	}{
		{"eventlog/a.go", "context", ""},
		{"eventlog/a.go", "github.com/vmihailenco/msgpack/v5", ""},
		{"eventlog/a.go", "math/rand/v2", "pure"},
		{"eventlog/a.go", "os", "pure"},
		{"eventlog/a.go", "github.com/nats-io/nats.go", "belongs in eventlog/jslog"},
		{"eventlog/a.go", "github.com/other/library", "may use of libraries only"},
		{"eventlog/a.go", m + "projections", "may import of the project only eventlog/pack"},
		{"eventlog/a_test.go", m + "projections", ""},
		{"eventlog/jslog/a.go", "github.com/nats-io/nats.go/jetstream", ""},
		{"eventlog/jslog/a.go", m + "eventlog", ""},
		{"eventlog/jslog/a.go", m + "engine", "may import of the project only eventlog/..."},
		{"eventlog/jslog/a.go", "github.com/nats-io/nats-server/v2/server", "belongs in embeddednats"},
		{"eventlog/jslog/a_test.go", "github.com/nats-io/nats-server/v2/server", ""},
		{"eventlog/memlog/a.go", "github.com/other/library", "libraries only none"},
		{"projections/a.go", "github.com/tidwall/btree", ""},
		{"projections/a.go", "context", "pure"},
		{"projections/a.go", "log/slog", "pure"},
		{"projections/a.go", "github.com/cockroachdb/pebble/v2", "belongs in projections/store"},
		{"projections/store/a.go", "github.com/cockroachdb/pebble/v2", ""},
		{"projections/store/a.go", "context", ""},
		{"engine/decide/a.go", m + "engine/schedule", ""},
		{"engine/decide/a.go", m + "engine", "project only eventlog, projections, engine/schedule"},
		{"engine/decide/a.go", m + "sandbox", "project only"},
		{"engine/decide/a.go", "time", ""},
		{"engine/schedule/a.go", "time/tzdata", ""},
		{"engine/decide/a.go", "time/tzdata", "pure"},
		{"engine/a.go", "github.com/dop251/goja", "belongs in sandbox"},
		{"engine/a.go", m + "eventlog/jslog", "project only"},
		{"engine/a.go", m + "ops", "project only"},
		{"engine/connector/natsservice/a.go", "github.com/nats-io/nats.go", ""},
		{"engine/connector/http/a.go", "github.com/nats-io/nats.go", "belongs in"},
		{"sandbox/a.go", "github.com/dop251/goja", "belongs in sandbox/script"},
		{"sandbox/a.go", m + "eventlog", "project only none"},
		{"sandbox/a.go", m + "sandbox/vm", "project only none"},
		{"sandbox/script/a.go", "github.com/evanw/esbuild/pkg/api", ""},
		{"sandbox/vm/a.go", "github.com/evanw/esbuild/pkg/api", "belongs in sandbox/script"},
		{"sandbox/lint/a.go", m + "sandbox/vm", "project only"},
		{"sandbox/vm/a.go", m + "sandbox/lint", ""},
		{"sandbox/vm/a.go", m + "sandbox/worker", "project only"},
		{"sandbox/worker/a.go", m + "sandbox", ""},
		{"ops/a.go", m + "engine", ""},
		{"ops/a.go", m + "cmd/pawl", "no package imports cmd"},
		{"engine/a_test.go", m + "cmd/pawl", "no package imports cmd"},
		{"cmd/pawl/a.go", m + "embeddednats", ""},
		{"cmd/pawl/a.go", "testing", "for tests"},
		{"cmd/pawl/a.go", m + "embeddednats/natstest", "for tests"},
		{"engine/a.go", "github.com/google/go-cmp/cmp", "for tests"},
		{"engine/enginetest/a.go", "testing", ""},
		{"engine/enginetest/a.go", m + "eventlog/memlog", ""},
		{"engine/a_test.go", m + "engine/enginetest", ""},
		{"elsewhere/a.go", "fmt", "has no place in the layers"},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.imports, func(t *testing.T) {
			tree := treeOf(t, map[string]string{tt.file: "package p\n\nimport _ \"" + tt.imports + "\"\n"})
			if tt.want == "" {
				one(t, tree.imports())
				return
			}
			one(t, tree.imports(), tt.file, tt.want)
		})
	}
}

func TestImports_PureFoldersDoNotReadTheClock(t *testing.T) {
	const body = "\n\nfunc f() { clock.Now(); clock.Unix(0, 0) }\n"
	one(t, treeOf(t, map[string]string{"engine/decide/a.go": `package p; import clock "time"` + body}).imports(),
		"engine/decide/a.go:3", "time.Now")
	one(t, treeOf(t, map[string]string{"engine/decide/a_test.go": `package p; import clock "time"` + body}).imports())
	one(t, treeOf(t, map[string]string{"engine/a.go": `package p; import clock "time"` + body}).imports())
	one(t, treeOf(t, map[string]string{"engine/decide/a.go": `package p; import clock "example.org/m/eventlog"` +
		body}).imports())
}

// A restriction for folders that have no layer, or a layer behind a wider one, would never be asked.
func TestImports_TablesAreReachable(t *testing.T) {
	for i, l := range layers {
		folder := strings.TrimSuffix(l.folders, "/...")
		if strings.HasSuffix(l.folders, "/...") {
			folder += "/below"
		}
		if first := slices.IndexFunc(layers, func(l layer) bool { return matches(l.folders, folder) }); first != i {
			t.Errorf("layer %s is hidden behind %s", l.folders, layers[first].folders)
		}
	}
	for _, r := range restrictions {
		for _, folder := range r.folders {
			l, ok := layerOf(strings.TrimSuffix(folder, "/..."))
			if !ok || !allows(l.external, strings.TrimSuffix(r.library, "/...")) {
				t.Errorf("%s may not use %s by its layer", folder, r.library)
			}
		}
	}
}

// TestRenames: files are replaced in one folder, which syncs the directory.
func TestRenames(t *testing.T) {
	const text = "package a\n\nimport \"os\"\n\nvar replace = os.Rename\n"
	one(t, treeOf(t, map[string]string{"eventlog/durable/a.go": text, "ops/a_test.go": text}).imports())
	one(t, treeOf(t, map[string]string{"embeddednats/a.go": text}).imports(), "embeddednats/a.go:5", "durable.WriteFile")
}

// The folders at the top are fixed: a new package stands in one of them.
func TestLayers_TopIsFixed(t *testing.T) {
	t.Parallel()
	top := []string{"cmd", "embeddednats", "engine", "eventlog", "ops", "projections", "sandbox"}
	for _, l := range layers {
		if first, _, _ := strings.Cut(l.folders, "/"); !slices.Contains(top, first) {
			t.Errorf("the layer of %s is in none of %q", l.folders, top)
		}
	}
}

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// tree is every Go file of the module, parsed once for all checks, and the other texts that people write.
type tree struct {
	module string
	set    *token.FileSet
	files  []*sourceFile
	// texts are the documents, test scripts and scripts of the module, by path.
	texts map[string][]byte
	// paths are all files and folders that a link may lead to.
	paths map[string]bool
}

func newTree(module string) *tree {
	return &tree{module: module, set: token.NewFileSet(), texts: make(map[string][]byte),
		paths: map[string]bool{".": true}}
}

// sourceFile is one Go file; paths are relative to the module and use slashes.
type sourceFile struct {
	path, folder string
	test         bool // _test.go
	text         []byte
	syntax       *ast.File // nil if it does not parse
	problem      error     // why not
}

// load reads the module's files. Of hidden folders, and of folders that version control does not keep, it notes the
// names alone.
func load(root, module string) (*tree, error) {
	t := newTree(module)
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			t.paths[relative] = true
			if base := entry.Name(); name != root && (base == ".git" || base == ".pawl" || base == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || !isText(relative) {
			t.paths[relative] = true
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		t.add(relative, text)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the module's files: %w", err)
	}
	return t, nil
}

// isText says whether the checks look into a file: Go, documents, scripts, and the scripts of tests.
func isText(name string) bool {
	return slices.Contains([]string{".go", ".md", ".ts", ".js", ".mjs", ".txtar"}, path.Ext(name)) ||
		path.Dir(name) == ruleScripts
}

// ignored says whether the go command ignores a Go file, because of its own name or that of a folder.
func ignored(name string) bool {
	parts := strings.Split(name, "/")
	return slices.ContainsFunc(parts, func(part string) bool {
		return part == "testdata" || part == "vendor" || part[0] == '.' || part[0] == '_'
	})
}

// add adds a file: a Go file of a package is parsed, any other is kept as text.
func (t *tree) add(name string, text []byte) {
	for p := name; !t.paths[p]; p = path.Dir(p) {
		t.paths[p] = true
	}
	if path.Ext(name) != ".go" {
		t.texts[name] = text
		return
	}
	if ignored(name) {
		return
	}
	f := &sourceFile{path: name, folder: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), text: text}
	f.syntax, f.problem = parser.ParseFile(t.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if f.problem != nil {
		f.syntax = nil
	}
	t.files = append(t.files, f)
}

// at says where a finding is.
func (t *tree) at(p token.Pos) string {
	position := t.set.Position(p)
	return position.Filename + ":" + strconv.Itoa(position.Line)
}

// format finds files that gofmt would change.
func (t *tree) format() []string {
	var found []string
	for _, f := range t.files {
		if f.problem != nil {
			found = append(found, f.problem.Error())
			continue
		}
		formatted, err := format.Source(f.text)
		if err != nil {
			found = append(found, fmt.Sprintf("%s: %v", f.path, err))
		} else if !bytes.Equal(formatted, f.text) {
			found = append(found, f.path+" is not formatted; run gofmt -w "+f.path)
		}
	}
	return found
}

const (
	// rulebook is where every rule is defined, under a heading of its own: `### R7 A host error cannot be caught`.
	rulebook = "engine/decide/RULES.md"
	// ruleScripts holds the scripts of the rules; their names begin with the ids.
	ruleScripts = "engine/decide/testdata/rules"
)

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
	"strconv"
	"strings"
)

// tree is every Go file of the module, parsed once for all checks.
type tree struct {
	module string
	set    *token.FileSet
	files  []*sourceFile
}

// sourceFile is one Go file; paths are relative to the module and use slashes.
type sourceFile struct {
	path, folder string
	test         bool // _test.go
	text         []byte
	syntax       *ast.File // nil if it does not parse
	problem      error     // why not
}

// load reads the module's Go files. Folders that the go command ignores are left out.
func load(root, module string) (*tree, error) {
	t := &tree{module: module, set: token.NewFileSet()}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name != root && (base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_') {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(base) != ".go" || base[0] == '.' || base[0] == '_' {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		t.add(filepath.ToSlash(relative), text)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the module's files: %w", err)
	}
	return t, nil
}

func (t *tree) add(name string, text []byte) {
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

package main

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
)

// clockCalls are the functions of package time that read or wait for the real clock.
var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func (t *tree) impureCalls(f *sourceFile) []string {
	var found []string
	for _, use := range uses(f.syntax, "time", clockCalls) {
		found = append(found, fmt.Sprintf("%s: %s uses time.%s: the folder is pure, take the time as an argument",
			t.at(use.Pos()), f.folder, use.Sel.Name))
	}
	return found
}

// writesFiles is the folder that replaces files in a way that survives a loss of power.
const writesFiles = "eventlog/durable"

// renames finds uses of os.Rename: after a loss of power the replaced file could be back.
func (t *tree) renames(f *sourceFile) []string {
	var found []string
	for _, use := range uses(f.syntax, "os", []string{"Rename"}) {
		found = append(found, fmt.Sprintf("%s: %s uses os.Rename: a file is replaced by durable.WriteFile of %s",
			t.at(use.Pos()), f.folder, writesFiles))
	}
	return found
}

// uses finds where a file names one of these members of a package.
func uses(file *ast.File, pkg string, names []string) []*ast.SelectorExpr {
	local := localName(file, pkg)
	if local == "" {
		return nil
	}
	var found []*ast.SelectorExpr
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}

// localName is what a file calls an imported package; empty if it does not import it.
func localName(file *ast.File, pkg string) string {
	for _, spec := range file.Imports {
		if spec.Path.Value != strconv.Quote(pkg) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}

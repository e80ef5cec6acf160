package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// maxLines is how long a file may be, tests included; generated files may be longer.
const maxLines = 500

// maxFiles is how many files a package may have without its tests: its next subject is a package of its own.
const maxFiles = 25

// commandFolders is where a file has the name of its command, whatever that is.
const commandFolders = "cmd/pawl/internal/commands/"

// emptyNames say nothing about what is inside.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "types", "manager", "misc"}

// layout checks the shape of folders and files, and that no test sleeps.
func (t *tree) layout() []string {
	var found, folders []string
	production, documented := make(map[string]int), make(map[string]bool)
	for _, f := range t.files {
		if !slices.Contains(folders, f.folder) {
			folders = append(folders, f.folder)
		}
		if !f.test {
			production[f.folder]++
		}
		documented[f.folder] = documented[f.folder] || path.Base(f.path) == "doc.go"
		if lines := bytes.Count(f.text, []byte("\n")); lines > maxLines && (f.syntax == nil || !ast.IsGenerated(f.syntax)) {
			found = append(found, fmt.Sprintf("%s has %d lines; split it below %d", f.path, lines, maxLines))
		}
		name := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
		if slices.Contains(emptyNames, name) && !strings.HasPrefix(f.folder, commandFolders) {
			found = append(found, fmt.Sprintf("%s: the name says nothing; name the file after the one thing in it", f.path))
		}
		if f.syntax != nil && (f.test || isTestFolder(f.folder)) {
			found = append(found, t.sleeps(f)...)
		}
	}
	for _, folder := range folders {
		if production[folder] > 0 && !documented[folder] {
			found = append(found, folder+" has no doc.go that says what it guarantees and what not")
		}
		if files := production[folder]; files > maxFiles {
			found = append(found, fmt.Sprintf("%s has %d files without its tests, more than %d; give one of its subjects a "+
				"package of its own", folder, files, maxFiles))
		}
		for part := range strings.SplitSeq(folder, "/") {
			if slices.Contains(emptyNames, part) {
				found = append(found, fmt.Sprintf("%s: the folder's name says nothing; name it after what is in it", folder))
			}
		}
	}
	return found
}

// sleeps finds tests that wait for real time to pass. Inside synctest.Test time is not real and a
// sleep ends as soon as nothing else can happen.
func (t *tree) sleeps(f *sourceFile) []string {
	sleeps := uses(f.syntax, "time", []string{"Sleep"})
	var bubbles []*ast.CallExpr
	bubble := uses(f.syntax, "testing/synctest", []string{"Test"})
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(bubble, s) {
				bubbles = append(bubbles, call)
			}
		}
		return true
	})
	var found []string
	for _, sleep := range sleeps {
		inside := slices.ContainsFunc(bubbles, func(b *ast.CallExpr) bool {
			return b.Pos() <= sleep.Pos() && sleep.End() <= b.End()
		})
		if !inside {
			found = append(found, t.at(sleep.Pos())+": a test sleeps; wait for a signal, or run it in synctest.Test")
		}
	}
	return found
}

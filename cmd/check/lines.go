package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxColumns is how many characters a line may have; a tab is one.
const maxColumns = 120

// lines checks that no line is too long.
func (t *tree) lines() []string {
	var found []string
	for name, long := range sorted(t.tooLong()) {
		for _, line := range long {
			found = append(found, fmt.Sprintf("%s:%d has more than %d columns; wrap it", name, line, maxColumns))
		}
	}
	return found
}

// tooLong are the numbers of the lines that are too long, by file.
func (t *tree) tooLong() map[string][]int {
	all := make(map[string][]int)
	for _, f := range t.files {
		if f.syntax != nil && ast.IsGenerated(f.syntax) {
			continue
		}
		unbreakable := t.unbreakable(f)
		count(all, f.path, f.text, func(line int, _ string) bool { return !unbreakable[line] })
	}
	for name, text := range t.texts {
		switch {
		case path.Ext(name) == ".md":
			// The row of a table is one line.
			count(all, name, text, func(_ int, s string) bool { return !strings.HasPrefix(strings.TrimLeft(s, " "), "|") })
		case path.Ext(name) == ".txtar" || path.Dir(name) == ruleScripts:
			// Everything in a script but its comments is data.
			count(all, name, text, func(_ int, s string) bool { return strings.HasPrefix(s, "#") })
		}
	}
	return all
}

func count(all map[string][]int, name string, text []byte, counts func(line int, s string) bool) {
	line := 0
	for s := range strings.Lines(string(text)) {
		line++
		if s = strings.TrimRight(s, "\r\n"); utf8.RuneCountInString(s) > maxColumns && counts(line, s) {
			all[name] = append(all[name], line)
		}
	}
}

// unbreakable are the lines of a Go file that cannot be wrapped: the tag of a field, which is one literal, and
// the text of a raw string of several lines, which is data.
func (t *tree) unbreakable(f *sourceFile) map[int]bool {
	if f.syntax == nil {
		return nil
	}
	lines := make(map[int]bool)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				lines[t.set.Position(n.Tag.Pos()).Line] = true
			}
		case *ast.BasicLit:
			first, last := t.set.Position(n.Pos()).Line, t.set.Position(n.End()).Line
			for line := first; n.Kind == token.STRING && first < last && line <= last; line++ {
				lines[line] = true
			}
		}
		return true
	})
	return lines
}

// sorted are the entries of a map in the order of their keys.
func sorted[V any](m map[string]V) func(func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxColumns is how many characters a line may have; a tab is one.
const maxColumns = 120

// longLines lists the files that still have longer lines: lines of `PATH COUNT`, sorted by path. It may only
// shrink, and goes away with its last entry.
const longLines = "cmd/check/longlines.txt"

// updateLines is what brings the list up to date.
const updateLines = "go run ./cmd/check -only lines -update"

// lines checks that no file has more long lines than the list allows, and that the list allows no more than
// there are.
func (t *tree) lines() []string {
	allowed, found := t.allowedLines()
	for name, long := range sorted(t.tooLong()) {
		most := allowed[name]
		delete(allowed, name)
		switch {
		case len(long) > most && most > 0:
			found = append(found, fmt.Sprintf("%s has %d lines of more than %d columns and may have %d; wrap some of lines %s",
				name, len(long), maxColumns, most, joined(long)))
		case len(long) > most:
			for _, line := range long {
				found = append(found, fmt.Sprintf("%s:%d has more than %d columns; wrap it", name, line, maxColumns))
			}
		case len(long) < most:
			found = append(found, fmt.Sprintf("%s has %d long lines left of %d; lower the entry in %s: %s",
				name, len(long), most, longLines, updateLines))
		}
	}
	for name := range sorted(allowed) {
		found = append(found, fmt.Sprintf("%s has no long line left; delete its entry in %s: %s", name, longLines,
			updateLines))
	}
	return found
}

// updateLongLines writes the list anew. Entries may move with their files, but the list never allows more lines
// than before.
func (t *tree) updateLongLines(root string) []string {
	allowed, found := t.allowedLines()
	if len(found) > 0 {
		return found
	}
	var before, after int
	for _, n := range allowed {
		before += n
	}
	var list strings.Builder
	for name, long := range sorted(t.tooLong()) {
		after += len(long)
		fmt.Fprintf(&list, "%s %d\n", name, len(long))
	}
	if after > before {
		return append(t.lines(), fmt.Sprintf("there are %d long lines, the list allows %d; wrap the new ones first", after,
			before))
	}
	file := filepath.Join(root, filepath.FromSlash(longLines))
	if after == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return []string{err.Error()}
		}
		return nil
	}
	if err := os.WriteFile(file, []byte(list.String()), 0o644); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// allowedLines reads the list; there is none when no line is too long.
func (t *tree) allowedLines() (allowed map[string]int, found []string) {
	allowed = make(map[string]int)
	for entry := range strings.Lines(string(t.texts[longLines])) {
		name, count, _ := strings.Cut(strings.TrimSpace(entry), " ")
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || allowed[name] > 0 {
			found = append(found, fmt.Sprintf("%s: %q is not PATH COUNT, or the path is listed twice", longLines,
				strings.TrimSpace(entry)))
			continue
		}
		allowed[name] = n
	}
	return allowed, found
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
			// What a script holds besides its comments is data.
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

// joined lists some numbers of lines.
func joined(lines []int) string {
	const shown = 10
	var parts []string
	for _, line := range lines[:min(len(lines), shown)] {
		parts = append(parts, strconv.Itoa(line))
	}
	if len(lines) > shown {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

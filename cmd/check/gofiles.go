package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	// pathOfGo is the path of a Go file, with a folder.
	pathOfGo = regexp.MustCompile(`[A-Za-z0-9_.*-]*(?:/[A-Za-z0-9_.*-]+)*/[A-Za-z0-9_.*-]+\.go\b`)
	address  = regexp.MustCompile(`[a-z]+://\S*`)
)

// missingGo are the Go files that a text names with their folders and that are not there. A path may begin at any
// folder, so it is there if the path of a file ends with it. A path whose first folder is none of the module belongs to
// another module, and one with a * names several files: both are left out, as are addresses.
func (t *tree) missingGo(text string) (missing []string) {
	for _, name := range pathOfGo.FindAllString(address.ReplaceAllString(text, ""), -1) {
		from := strings.TrimLeft(name, "./")
		if !strings.Contains(from, "/") || strings.Contains(from, "*") || t.endsAnyPath(from) {
			continue
		}
		if first, _, _ := strings.Cut(from, "/"); t.endsAnyPath(first) {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

func (t *tree) endsAnyPath(part string) bool {
	if t.paths[part] {
		return true
	}
	for p := range t.paths {
		if path.Base(p) == path.Base(part) && strings.HasSuffix(p, "/"+part) {
			return true
		}
	}
	return false
}

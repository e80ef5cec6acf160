package term

import (
	"os"
	"path/filepath"
)

// Path shortens a path for people: a path inside the working directory is shown relative to it, unless that
// directory is the root.
func Path(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(dir, absolute)
	if err != nil || !filepath.IsLocal(rel) || dir == filepath.VolumeName(dir)+string(filepath.Separator) {
		return path
	}
	if rel == "." {
		return rel
	}
	return "." + string(filepath.Separator) + rel
}

package typings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-run/pawl/sandbox"
)

// File and Project are the names of the files that an editor reads beside scripts: the declarations, and the settings
// by which it finds them.
const (
	File    = "pawl.d.ts"
	Project = "tsconfig.json"
)

// Settings are what Project holds: scripts are modules of today's language, without a browser and without Node.js.
const Settings = `{
  "compilerOptions": {
    "target": "esnext",
    "lib": ["esnext"],
    "types": [],
    "module": "esnext",
    "moduleDetection": "force",
    "isolatedModules": true,
    "allowJs": true,
    "strict": true,
    "noEmit": true
  }
}
`

// ForeignError says that a file is there which was not written by this package.
type ForeignError struct{ Path string }

// Error names the file.
func (e *ForeignError) Error() string {
	return e.Path + " is there and was not written by pawl types: it is left as it is"
}

// Write writes the declarations into a folder, in place of those that were there, and Project if the folder has no
// such file. It returns the paths of the files that it has written. The error is a *[ForeignError] where a file that
// this package has not written would be replaced.
func Write(dir, declarations string) (written []string, err error) {
	path := filepath.Join(dir, File)
	mark, _, _ := strings.Cut(sandbox.Typings, ".")
	old, err := os.ReadFile(path)
	switch {
	case err == nil && !strings.HasPrefix(string(old), mark):
		return nil, &ForeignError{path}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("look at the types: %w", err)
	}
	if err := os.WriteFile(path, []byte(declarations), 0o644); err != nil {
		return nil, fmt.Errorf("write the types: %w", err)
	}
	written = []string{path}
	for _, name := range []string{Project, "jsconfig.json"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return written, nil
		}
	}
	path = filepath.Join(dir, Project)
	if err := os.WriteFile(path, []byte(Settings), 0o644); err != nil {
		return written, fmt.Errorf("write the settings of the compiler: %w", err)
	}
	return append(written, path), nil
}

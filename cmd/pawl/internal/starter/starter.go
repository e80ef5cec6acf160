package starter

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/example"
	"github.com/pawl-run/pawl/cmd/pawl/internal/guide"
	"github.com/pawl-run/pawl/cmd/pawl/internal/typings"
)

//go:embed templates
var templates embed.FS

// Template is a workflow to begin with, and the commands that run it.
type Template struct {
	// Script is the name of its file.
	Script string
	// About says what it does.
	About string
	// bundled says that the script and its tests are one of the examples, not of the templates.
	bundled bool
	folders []string
	// Next are the commands to try, for a shell in the folder.
	Next []string
}

// Templates are all templates, by name.
var Templates = map[string]Template{
	"orders": {
		Script: "orders.ts", About: "events that are pushed in become rows of a CSV file",
		folders: []string{"sheets"},
		Next: []string{"pawl up orders.ts",
			`pawl push orders order.paid --id o-1 --title 'Order 1' '{"id": "o-1", "total": 20}'`},
	},
	"mail": {
		Script: "mail-to-sheet.ts", About: "mails of a folder become rows of a CSV file", bundled: true,
		folders: []string{"sheets", "inbox/new", "inbox/cur", "inbox/tmp"},
		Next:    []string{"pawl up mail-to-sheet.ts"},
	},
	"chat": {
		Script: "webhook-to-chat.ts", About: "signed webhooks become chat messages, many at once", bundled: true,
		Next: []string{"export SHOP_WEBHOOK_SECRET=…", "pawl up webhook-to-chat.ts"},
	},
}

// Names are the names of the templates.
func Names() []string { return slices.Sorted(maps.Keys(Templates)) }

// Contract is the name of the file with the contract for coding agents.
const Contract = "AGENTS.md"

// Write writes a template into the folder, which it makes where it is missing. It returns the paths of the files that
// it has written, and of those that existed and stay as they are.
func Write(dir, name, declarations string) (written, kept []string, err error) {
	t, ok := Templates[name]
	if !ok {
		return nil, nil, fmt.Errorf("there is no template %q", name)
	}
	for _, folder := range append([]string{"."}, t.folders...) {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(folder)), 0o755); err != nil {
			return nil, nil, fmt.Errorf("write the template: %w", err)
		}
	}
	files, err := t.files(name)
	if err != nil {
		return nil, nil, err
	}
	files[typings.File], files[typings.Project] = declarations, typings.Settings
	files[Contract] = guide.Contract()
	for _, file := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, file)
		switch err := put(path, files[file]); {
		case errors.Is(err, fs.ErrExist):
			kept = append(kept, path)
		case err != nil:
			return written, kept, err
		default:
			written = append(written, path)
		}
	}
	return written, kept, nil
}

// files are the script, its tests and the other files of the template, by name.
func (t Template) files(name string) (map[string]string, error) {
	files := map[string]string{}
	folder := "templates/" + name
	entries, err := templates.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	for _, entry := range entries {
		content, err := templates.ReadFile(folder + "/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the template: %w", err)
		}
		files[entry.Name()] = string(content)
	}
	if t.bundled {
		for _, name := range []string{t.Script, strings.TrimSuffix(t.Script, ".ts") + ".test.ts"} {
			content, err := example.Files.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("read the template: %w", err)
			}
			files[name] = string(content)
		}
	}
	return files, nil
}

// put writes a file that must not exist yet.
func put(path, content string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write the template: %w", err)
	}
	_, err = file.WriteString(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the template: %w", err)
	}
	return nil
}

package version

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// Cmd prints what was built.
type Cmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the version, from what the Go tool has built in.
func (c *Cmd) Run(screen term.Screen) error {
	if !c.JSON {
		fmt.Fprintf(screen.Out, "pawl %s, %s %s/%s\n", String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	}
	document, err := json.Marshal(map[string]string{"version": String(), "go": runtime.Version(), "os": runtime.GOOS,
		"arch": runtime.GOARCH})
	if err != nil {
		return fmt.Errorf("print the version: %w", err)
	}
	return screen.JSON(document)
}

// String is the module's version, or the commit it was built from.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changes"
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision + modified
}

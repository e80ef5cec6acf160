package run

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// ToolProcess confines itself and becomes a tool. An engine starts it; people have no use for it.
type ToolProcess struct{}

// Run returns only if the tool cannot be started.
func (ToolProcess) Run() error {
	var becoming builtin.Becoming
	if err := json.Unmarshal([]byte(os.Getenv(builtin.ToolProcess)), &becoming); err != nil {
		return exit.Failed("this command is started by an engine, not by hand", fmt.Errorf("read what to become: %w", err))
	}
	environment := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, builtin.ToolProcess+"=") || strings.HasPrefix(variable, "TZ=")
	})
	err := confine.Become(becoming.Folders, becoming.Program, becoming.Args, environment)
	return exit.Failed("look at the folders of the connector in pawl.yaml", err)
}

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/mcpcall"
	"github.com/pawl-run/pawl/sandbox/worker/confine"
)

// openServers makes the connectors of the MCP servers, and starts these at the same time.
func openServers(servers map[string]mcpcall.Config, logger *slog.Logger, onClose func(func() error)) (
	[]connector.Connector, error,
) {
	if len(servers) > 0 && confine.Offered() == confine.None && logger != nil {
		logger.Warn("the processes of MCP servers are not confined to their folders: this system has no Landlock")
	}
	type started struct {
		made *mcpcall.Connector
		err  error
	}
	all := make(map[string]chan started, len(servers))
	for name, config := range servers {
		config.Name, config.Confined, config.Logger = name, confined, logger
		ready := make(chan started, 1)
		all[name] = ready
		go func() {
			made, err := mcpcall.New(context.Background(), config)
			ready <- started{made, err}
		}()
	}
	var list []connector.Connector
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one := <-all[name]
		if one.err != nil {
			errs = append(errs, one.err)
			continue
		}
		list = append(list, one.made)
		onClose(one.made.Close)
	}
	return list, errors.Join(errs...)
}

// ToolProcess is the variable in the environment of `pawl tool-process` that holds a Becoming as JSON.
const ToolProcess = "PAWL_TOOL_PROCESS"

// Becoming is what `pawl tool-process` becomes: a program, and the folders that are left to it.
type Becoming struct {
	Program string
	Args    []string
	Folders confine.Folders
}

// confined makes the process of an MCP server: this program again, which confines itself and becomes the server.
func confined(c mcpcall.Config) (*exec.Cmd, error) {
	program, err := exec.LookPath(c.Command[0])
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", c.Command[0], err)
	}
	if confine.Offered() == confine.None {
		return exec.Command(program, c.Command[1:]...), nil
	}
	becoming, err := json.Marshal(Becoming{Program: program, Args: c.Command,
		Folders: confine.Folders{Read: c.Read, Write: c.Write, Network: c.Network}})
	if err != nil {
		return nil, fmt.Errorf("describe the process: %w", err)
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{os.Args[0], "tool-process"}}
	cmd.Env = []string{ToolProcess + "=" + string(becoming)}
	return cmd, nil
}

package scripts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// knownAlone says which connectors are known without an engine.
func knownAlone(file config.File) string {
	text := "the connectors built in"
	if described := file.Described(); len(described) > 0 {
		text += " and those of OpenAPI descriptions (" + strings.Join(slices.Sorted(maps.Keys(described)), ", ") + ")"
	}
	return text
}

// sayServers prints which connectors of the configuration only an engine knows.
func sayServers(screen term.Screen, file config.File) {
	if servers := file.MCPServers(); len(servers) > 0 {
		fmt.Fprintf(screen.Err, "what the MCP servers offer (%s) is known while an engine runs, which starts them: start it "+
			"with pawl up or pawl serve, then run this again\n", strings.Join(servers, ", "))
	}
}

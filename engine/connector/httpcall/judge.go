package httpcall

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
)

// Judge names a host that no call may go to, where the text of a script shows the whole of it: in an address that is
// written, or in the beginning of one that is put together.
func (c *Connector) Judge(_ string, params *connector.Partial) []connector.Violation {
	if c.unknown {
		return nil
	}
	for _, m := range params.Members {
		if m.Name != "url" {
			continue
		}
		address, known := m.Value.Prefix, false
		if json.Unmarshal(m.Value.Value, &address) == nil {
			known = true
		}
		if !known && !holdsHost(address) {
			return nil
		}
		_, failure := c.parseTarget(address)
		if failure == nil || failure.Code != connector.CodeHost {
			return nil // whatever else is wrong with it, the call says
		}
		return []connector.Violation{{Where: []string{"url"}, Code: failure.Code, Message: failure.Message,
			Fix: "add the host under connectors.http.hosts in pawl.yaml and start the engine again, or correct the address"}}
	}
	return nil
}

// holdsHost reports whether the beginning of an address goes beyond its host.
func holdsHost(beginning string) bool {
	_, rest, found := strings.Cut(beginning, "://")
	return found && strings.ContainsAny(rest, "/?#")
}

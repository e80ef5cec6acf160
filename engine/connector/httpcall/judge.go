package httpcall

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
)

// Judge names a host that no call may go to, where the text of a script shows the whole of it: in an address that is
// written, or in the beginning of one that is put together. It names a read by another method than GET, too, that the
// configuration does not list.
func (c *Connector) Judge(operation string, params *connector.Partial) []connector.Violation {
	if c.unknown {
		return nil
	}
	texts := make(map[string]string, 2)
	for _, m := range params.Members {
		text := ""
		if json.Unmarshal(m.Value.Value, &text) == nil {
			texts[m.Name] = text
		} else if m.Name == "url" && holdsHost(m.Value.Prefix) {
			texts["begins"] = m.Value.Prefix
		}
	}
	address, whole := texts["url"]
	if !whole {
		address = texts["begins"]
	}
	if address == "" {
		return nil
	}
	t, failure := c.parseTarget(address)
	if failure != nil && failure.Code == connector.CodeHost {
		return []connector.Violation{{Where: []string{"url"}, Code: failure.Code, Message: failure.Message,
			Fix: "add the host under connectors.http.hosts in pawl.yaml and start the engine again, or correct the address"}}
	}
	if failure != nil || operation != "read" || !whole || texts["method"] == "" {
		return nil // whatever else is wrong with it, the call says
	}
	if failure := t.host.reads.allows(texts["method"], t.url, t.host.name); failure != nil {
		return []connector.Violation{{Where: []string{"url"}, Code: failure.Code, Message: failure.Message,
			Fix: "list it under reads of the host in pawl.yaml and start the engine again, or call it in mutate"}}
	}
	return nil
}

// holdsHost reports whether the beginning of an address goes beyond its host.
func holdsHost(beginning string) bool {
	_, rest, found := strings.Cut(beginning, "://")
	return found && strings.ContainsAny(rest, "/?#")
}

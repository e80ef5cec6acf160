package httpcall

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
)

// Judge names a host that no call may go to, where the text of a script shows the whole of it: in an address that is
// written, or in the beginning of one that is put together. It names a read by another method than GET, too, that the
// configuration does not list, and a secret that is not configured or must not be sent to the host.
func (c *Connector) Judge(operation string, params *connector.Partial) []connector.Violation {
	if c.unknown {
		return nil
	}
	secrets := c.WrittenSecrets(params)
	found := c.unknownSecrets(secrets)
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
		return found
	}
	t, failure := c.parseTarget(address)
	if failure == nil {
		found = append(found, c.strayingSecrets(secrets, t)...)
	}
	if failure != nil && failure.Code == connector.CodeHost {
		return append(found, connector.Violation{Where: []string{"url"}, Code: failure.Code, Message: failure.Message,
			Fix: "add the host under connectors.http.hosts in pawl.yaml and start the engine again, or correct the address"})
	}
	if failure != nil || operation != "read" || !whole || texts["method"] == "" {
		return found // whatever else is wrong with it, the call says
	}
	if failure := t.host.reads.allows(texts["method"], t.url, t.host.name); failure != nil {
		return append(found, connector.Violation{Where: []string{"url"}, Code: failure.Code, Message: failure.Message,
			Fix: "list it under reads of the host in pawl.yaml and start the engine again, or call it in mutate"})
	}
	return found
}

// WrittenSecrets lists the secrets that the parameters name, where their text shows the name.
func (c *Connector) WrittenSecrets(params *connector.Partial) []connector.WrittenSecret {
	var list []connector.WrittenSecret
	for _, secret := range params.Members {
		if secret.Name != "secret" {
			continue
		}
		for _, place := range secret.Value.Members { // header, query, body
			for _, m := range place.Value.Members {
				name := ""
				if json.Unmarshal(m.Value.Value, &name) == nil && name != "" {
					list = append(list, connector.WrittenSecret{Name: name, Where: []string{secret.Name, place.Name, m.Name}})
				}
			}
		}
	}
	return list
}

// unknownSecrets names secrets that the configuration does not have.
func (c *Connector) unknownSecrets(secrets []connector.WrittenSecret) []connector.Violation {
	var found []connector.Violation
	for _, s := range secrets {
		if failure := c.named.known(s.Name); failure != nil {
			found = append(found, connector.Violation{Where: s.Where, Code: failure.Code, Message: failure.Message,
				Fix: "add it under secrets in pawl.yaml and start the engine again, or correct the name"})
		}
	}
	return found
}

// strayingSecrets names secrets that must not be sent to the target.
func (c *Connector) strayingSecrets(secrets []connector.WrittenSecret, t target) []connector.Violation {
	var found []connector.Violation
	for _, s := range secrets {
		if c.named.known(s.Name) != nil {
			continue
		}
		if failure := c.named.bound(s.Name, t); failure != nil {
			found = append(found, connector.Violation{Where: s.Where, Code: failure.Code, Message: failure.Message,
				Fix: "add the host to the hosts of the secret in pawl.yaml and start the engine again, or name another secret"})
		}
	}
	return found
}

// holdsHost reports whether the beginning of an address goes beyond its host.
func holdsHost(beginning string) bool {
	_, rest, found := strings.Cut(beginning, "://")
	return found && strings.ContainsAny(rest, "/?#")
}

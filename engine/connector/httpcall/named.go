package httpcall

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/redact"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
)

// Codes of calls whose named secrets cannot be sent. Nothing has left then.
const (
	// CodeSecretUnknown: the configuration has no secret of the name.
	CodeSecretUnknown = "secret.unknown"
	// CodeSecretHost: the configuration does not let the secret go to the host of the call.
	CodeSecretHost = "secret.host"
)

// named are the configured secrets with the addresses, "name:port", that each may be sent to.
type named struct {
	set     secret.Set
	boundTo map[string]map[string]bool
}

func newNamed(set secret.Set) (named, error) {
	n := named{set, make(map[string]map[string]bool)}
	for _, name := range set.Names() {
		s, _ := set.Lookup(name)
		bound := make(map[string]bool)
		for i, host := range s.Hosts() {
			addresses, err := addressesOf(host)
			if err != nil {
				key := fmt.Sprintf("secrets.%s.hosts[%d]", name, i)
				return n, &connector.SettingError{Key: key, Err: fmt.Errorf("%s: %q: %w", key, host, err)}
			}
			for _, address := range addresses {
				bound[address] = true
			}
		}
		for _, value := range s.Values() {
			if len(bound) > 0 && len(value) < redact.Shortest {
				key := "secrets." + name + ".value"
				return n, &connector.SettingError{Key: key, Err: fmt.Errorf("%s: a value of fewer than %d bytes cannot be told "+
					"from other text in answers, so it must not be sent", key, redact.Shortest)}
			}
		}
		n.boundTo[name] = bound
	}
	return n, nil
}

// values are those of the named secrets that may be sent to the target, by name.
func (n named) values(names []string, t target) (map[string]string, *eventlog.Failure) {
	values := make(map[string]string, len(names))
	for _, name := range names {
		if failure := n.known(name); failure != nil {
			return nil, failure
		}
		if failure := n.bound(name, t); failure != nil {
			return nil, failure
		}
		s, _ := n.set.Lookup(name)
		values[name] = s.Values()[0]
	}
	if t.url.Scheme == "http" && !t.host.private {
		return nil, connector.Failf(eventlog.Permission, connector.CodeHostInsecure,
			"a secret must not travel to %s unencrypted: use https, or set private: true for the host", t.url.Host)
	}
	return values, nil
}

// known refuses a name that the configuration does not have.
func (n named) known(name string) *eventlog.Failure {
	if _, known := n.set.Lookup(name); known {
		return nil
	}
	return connector.Failf(eventlog.Logic, CodeSecretUnknown,
		"there is no secret %q: name one of those under secrets in the engine's configuration (%s)", name,
		strings.Join(n.set.Names(), ", "))
}

// bound refuses to let a known secret go to the target where its hosts do not name it.
func (n named) bound(name string, t target) *eventlog.Failure {
	if n.boundTo[name][addressOf(t.url)] {
		return nil
	}
	s, _ := n.set.Lookup(name)
	return connector.Failf(eventlog.Logic, CodeSecretHost,
		"the secret %s must not be sent to %s: its hosts in the engine's configuration are [%s]", name, t.url.Host,
		strings.Join(s.Hosts(), ", "))
}

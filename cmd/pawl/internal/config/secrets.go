package config

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
)

// secrets are the configured secrets by name: where their values are, and where they may be sent.
type secrets map[string]secretSettings

type secretSettings struct {
	Value values   `yaml:"value"`
	Hosts []string `yaml:"hosts"`
}

// validate refuses invalid names, and secrets whose values are in the file itself.
func (s secrets) validate(written *configText) error {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		at := written.place("secrets." + name)
		if err := eventlog.ValidateConnectorName(name); err != nil {
			return exit.Misconfigured("write e.g. GITHUB", "%s: secrets: the name %v", at, err)
		}
		if len(s[name].Value) == 0 {
			return exit.Misconfigured("write e.g. value: \"${env:"+strings.ToUpper(name)+"}\"",
				"%s: secrets.%s has no value", at, name)
		}
		for _, value := range s[name].Value {
			if !strings.Contains(strings.ReplaceAll(value, "$${", ""), "${") {
				return exit.Misconfigured("keep it outside and write value: \"${env:NAME}\" or \"${file:PATH}\"",
					"%s: secrets.%s.value stands in the file itself", written.place("secrets."+name+".value"), name)
			}
		}
	}
	return nil
}

// giveValue is what to do where a reference to a secret leads to no usable value.
const giveValue = "set the environment variable to which the reference leads, or let this user read the file"

// expand reads the values. The error names the secret whose value cannot be read, and its place in what is written.
func (s secrets) expand(from connector.Secrets, written *configText) (secret.Set, error) {
	byName := make(map[string]secret.Secret, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		settings := s[name]
		read := make([]string, 0, len(settings.Value))
		var fault error
		for _, reference := range settings.Value {
			value, err := from.Expand(reference)
			read, fault = append(read, value), errors.Join(fault, err)
		}
		if fault == nil {
			byName[name], fault = secret.Of(read, settings.Hosts)
		}
		if fault != nil {
			return secret.Set{}, exit.Misconfigured(giveValue, "%s: secrets.%s.value: %v",
				written.place("secrets."+name+".value"), name, fault)
		}
	}
	return secret.NewSet(byName), nil
}

// withoutValues has the names and hosts of the secrets, but other values.
func (s secrets) withoutValues() (secret.Set, error) {
	byName := make(map[string]secret.Secret, len(s))
	for name, settings := range s {
		known, err := secret.Of([]string{"known to the engine alone"}, settings.Hosts)
		if err != nil {
			return secret.Set{}, exit.Misconfigured("", "secrets.%s: %v", name, err)
		}
		byName[name] = known
	}
	return secret.NewSet(byName), nil
}

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

// secrets are the configured ones by name: where their values are, and where they may be sent.
type secrets map[string]secretSettings

type secretSettings struct {
	Value values   `yaml:"value"`
	Hosts []string `yaml:"hosts"`
}

// values are references to the values of one secret: one, or several while one is being replaced.
type values []string

// UnmarshalYAML takes a text or a list of them.
func (v *values) UnmarshalYAML(decode func(any) error) error {
	var several []string
	if err := decode(&several); err == nil {
		*v = several
		return nil
	}
	var one string
	err := decode(&one)
	*v = values{one}
	return err
}

// SecretNames are those of the configured secrets, sorted.
func (c *File) SecretNames() []string { return slices.Sorted(maps.Keys(c.Secrets)) }

// validate refuses names that nothing can name, and secrets that stand in the file itself.
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

// expandSecrets reads the values. The error names the secret whose value cannot be read.
func (c *File) expandSecrets(from connector.Secrets) error {
	byName := make(map[string]secret.Secret, len(c.Secrets))
	for _, name := range c.SecretNames() {
		settings := c.Secrets[name]
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
			return exit.Misconfigured("", "%s: secrets.%s.value: %v", c.text.place("secrets."+name+".value"), name, fault)
		}
	}
	c.Values = secret.NewSet(byName)
	return nil
}

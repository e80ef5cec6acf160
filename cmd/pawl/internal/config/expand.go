package config

import (
	"errors"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector"
)

// Expand puts in the secrets that the connectors' settings refer to. Only a process that runs connectors does so:
// other commands must not need an engine's secrets. The error names the setting whose secret cannot be read.
func (c *File) Expand(env func(string) (string, bool)) error {
	var found []string
	secrets := connector.Secrets{Dir: c.dir, LookupEnv: env, Found: func(value string) { found = append(found, value) }}
	if err := secrets.ExpandAll(&c.Connectors); err != nil {
		at := c.Path
		var wrong *connector.SettingError
		if errors.As(err, &wrong) {
			at = c.text.place("connectors." + wrong.Key)
		}
		return exit.Misconfigured(giveValue, "%s: connectors.%v", at, err)
	}
	values, err := c.Secrets.expand(secrets, c.text)
	if err != nil {
		return err
	}
	c.Values = values
	if c.Outgoing, err = c.Subscriptions.expand(secrets, values, c.text); err != nil {
		return err
	}
	if c.Alerting, err = c.Alerts.expand(secrets, values, c.text); err != nil {
		return err
	}
	if http := c.Connectors.HTTP; http != nil {
		http.Named, http.Secrets = c.Values, found
	}
	if smtp := c.Connectors.SMTP; smtp != nil {
		smtp.Secrets = found
	}
	if imap := c.Connectors.IMAP; imap != nil {
		imap.Secrets = found
	}
	if sql := c.Connectors.SQL; sql != nil {
		sql.Secrets = found
		for name, database := range sql.Databases {
			resolve(&database.File, c.dir)
			sql.Databases[name] = database
		}
	}
	for name, server := range c.Connectors.MCP {
		server.Secrets = found
		c.Connectors.MCP[name] = server
		for _, paths := range [][]string{server.Read, server.Write} {
			for i := range paths {
				resolve(&paths[i], c.dir)
			}
		}
	}
	for name, described := range c.Connectors.OpenAPI {
		described.Secrets = found
		resolve(&described.Description, c.dir)
		c.Connectors.OpenAPI[name] = described
	}
	for _, root := range []*Root{c.Connectors.Maildir, c.Connectors.Files, c.Connectors.CSV} {
		if root != nil {
			resolve(&root.Root, c.dir)
		}
	}
	return nil
}

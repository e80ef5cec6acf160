package config

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/schedule"
)

// validate checks the values, and names the place of a wrong one.
func (c *File) validate(written *configText) error {
	var policies schedule.PolicyErrors
	if errors.As(c.Policies.Validate(), &policies) {
		var lines []string
		for _, p := range policies {
			lines = append(lines, written.place(p.Key)+": "+p.Error())
		}
		return exit.Misconfigured("", "%s", strings.Join(lines, "\n"))
	}
	_, sync := parseSync(cmp.Or(c.Sync, syncAlways))
	_, sandbox := parseSandbox(c.Sandbox)
	_, clock := parseClock(cmp.Or(c.Clock, clockSystem), "")
	for _, checked := range []struct {
		key string
		err error
	}{{"sync", sync}, {"require-sandbox", sandbox}, {"clock", clock}} {
		var f *exit.Failure
		if errors.As(checked.err, &f) {
			f.What = written.place(checked.key) + ": " + f.What
			return f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Connectors.MCP)) {
		var wrong *connector.SettingError
		if err := c.Connectors.MCP[name].Validate(name); errors.As(err, &wrong) {
			return exit.Misconfigured("CONNECTORS.md describes MCP servers", "%s: %v", written.place(wrong.Key), err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Connectors.OpenAPI)) {
		var wrong *connector.SettingError
		if err := c.Connectors.OpenAPI[name].Validate(name); errors.As(err, &wrong) {
			return exit.Misconfigured("CONNECTORS.md describes OpenAPI descriptions", "%s: %v", written.place(wrong.Key), err)
		}
	}
	if err := c.Secrets.validate(written); err != nil {
		return err
	}
	if err := c.Vars.validate(written); err != nil {
		return err
	}
	if err := c.Recordings.validate(written); err != nil {
		return err
	}
	if err := c.Subscriptions.validate(written); err != nil {
		return err
	}
	if err := c.Alerts.validate(written, c.Subscriptions); err != nil {
		return err
	}
	if c.URL != "" && c.NATS != "" {
		return exit.Misconfigured("keep one of them", "%s: both url and nats are set", written.place("nats"))
	}
	for _, twice := range []struct {
		key, short string
		long       *Root
	}{{"maildir", c.Maildir, c.Connectors.Maildir}, {"files", c.Files, c.Connectors.Files},
		{"csv", c.CSV, c.Connectors.CSV}} {
		if twice.short != "" && twice.long != nil {
			return exit.Misconfigured("keep one of them", "%s: both %s and connectors.%s.root are set", written.place(twice.key),
				twice.key, twice.key)
		}
	}
	return nil
}

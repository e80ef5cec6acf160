package imap_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/imap"
	"github.com/pawl-run/pawl/eventlog"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	good := imap.Config{Server: "imap.example.com:993", Username: "pawl", Password: password,
		Parser: func() *exec.Cmd { return nil }}
	for _, c := range []struct {
		key, says string
		change    func(*imap.Config)
	}{
		{"", "", func(*imap.Config) {}},
		{"", "", func(c *imap.Config) { c.Server, c.TLS = "localhost:143", "" }},
		{"server", "imap.example.com:993", func(c *imap.Config) { c.Server = "imap.example.com" }},
		{"server", "host and port", func(c *imap.Config) { c.Server = "" }},
		{"username", "missing", func(c *imap.Config) { c.Username = "" }},
		{"password", "missing", func(c *imap.Config) { c.Password = "" }},
		{"password", "fewer than 4 bytes", func(c *imap.Config) { c.Password = "abc" }},
		{"password", "line break", func(c *imap.Config) { c.Password = "abcd\r\nX" }},
		{"tls", "implicit, starttls or none", func(c *imap.Config) { c.TLS = "ssl" }},
		{"tls", "unencrypted", func(c *imap.Config) { c.TLS = "none" }},
		{"timeout", "negative", func(c *imap.Config) { c.Timeout = -time.Second }},
		{"connections", "1 to 16", func(c *imap.Config) { c.Connections = 17 }},
	} {
		config := good
		c.change(&config)
		made, err := imap.New(config)
		if c.key == "" {
			if err != nil {
				t.Error(err)
				continue
			}
			made.Close()
			continue
		}
		var wrong *connector.SettingError
		if !errors.As(err, &wrong) || wrong.Key != "connectors.imap."+c.key || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", c.key, err)
		}
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	b := open(t, imap.Config{Server: "127.0.0.1:1"}) // nothing is asked
	for _, c := range []struct {
		operation string
		params    map[string]any
		code      string
	}{
		{"get", map[string]any{}, "call.params"},
		{"get", map[string]any{"id": "7"}, "imap.id"},
		{"get", map[string]any{"id": "9.7."}, "imap.id"},
		{"get", map[string]any{"id": "9.07.INBOX"}, "imap.id"},
		{"get", map[string]any{"id": "9.7.inbox"}, "imap.id"}, // a mail has one id
		{"get", map[string]any{"id": "9.4294967296.INBOX"}, "imap.id"},
		{"get", map[string]any{"id": "0.7.INBOX"}, "imap.id"},
		{"get", map[string]any{"id": "9.7.a\r\nT STORE"}, "imap.id"},
		{"list", map[string]any{"mailbox": "a\r\nT9 DELETE INBOX"}, "imap.mailbox"},
		{"list", map[string]any{"mailbox": " "}, "imap.mailbox"},
		{"list", map[string]any{"mailbox": strings.Repeat("ü", 241)}, "imap.mailbox"},
		{"list", map[string]any{"after": "9.7.Other"}, "imap.id"},
		{"list", map[string]any{"since": "2026-02-30"}, "call.params"},
		{"list", map[string]any{"since": "yesterday"}, "call.params"},
		{"list", map[string]any{"limit": 1001}, "call.params"},
		{"list", map[string]any{"folder": "new"}, "call.params"},
	} {
		b.wantFailure(c.operation, c.params, eventlog.Logic, c.code)
	}
	b.wantFailure("list", map[string]any{"mailbox": strings.Repeat("ü", 240)}, eventlog.Transient, "imap.connection")
	out := b.r.Perform(t.Context(), connector.Call{Connector: "imap", Operation: "list"})
	if out.Status != connector.Failed {
		t.Errorf("a read is performed: %+v", out)
	}
}

package sqlcall_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/sqlcall"
)

// What cannot be is refused by the key of the setting, and the text repeats neither URL nor password.
func TestSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.db")
	long := strings.Repeat("planted", 10)
	for _, c := range []struct {
		name   string
		config sqlcall.DatabaseConfig
		key    string
		want   string
	}{
		{"shop", sqlcall.DatabaseConfig{}, "shop", "it has neither a url (PostgreSQL) nor a file (SQLite)"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a@b/c", File: file}, "shop", "it has a url and a file"},
		{"Shop", sqlcall.DatabaseConfig{File: file}, "Shop", "lower-case letters"},
		{"shop", sqlcall.DatabaseConfig{File: filepath.Join(file, "b.db")}, "shop.file", "there is no folder"},
		{"shop", sqlcall.DatabaseConfig{File: filepath.Dir(file)}, "shop.file", "is not a file"},
		{"shop", sqlcall.DatabaseConfig{File: file, Password: long}, "shop.password", "a file has no password"},
		{"shop", sqlcall.DatabaseConfig{File: file, Timeout: -1}, "shop.timeout", "is negative"},
		{"shop", sqlcall.DatabaseConfig{File: file, Rows: -1}, "shop.rows", "from 1 to 1000000, not -1"},
		{"shop", sqlcall.DatabaseConfig{File: file, Connections: 1001}, "shop.connections", "from 1 to 1000, not 1001"},
		{"shop", sqlcall.DatabaseConfig{URL: "mysql://a:" + long + "@b/c"}, "shop.url",
			"want postgres://USER@HOST:PORT/DATABASE"},
		{"shop", sqlcall.DatabaseConfig{URL: "host=b password=" + long}, "shop.url", "want postgres://"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a:" + long + "%zz@b/c"}, "shop.url",
			"it cannot be read: want postgres://USER@HOST:PORT/DATABASE, and the password by itself, in " +
				"connectors.sql.databases.shop.password"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a:pl#" + long + "@b/c"}, "shop.url", "cannot be read"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://:" + long + "@b/c"}, "shop.url", "the user is missing"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a:" + long + "@b"}, "shop.url", "the database is missing"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a:" + long + "@/c"}, "shop.url", "name one host"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a@b,d/c"}, "shop.url", "name one host"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a@b/c?host=/x"}, "shop.url", "name one host"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a@/c?host=x"}, "shop.url", "begins with /"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a:" + long + "@b/c", Password: long}, "shop.password",
			"the url holds a password too"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a:abc@b/c"}, "shop.password", "fewer than 4 bytes"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a@b/c?password=" + long}, "shop.url", `not "password"`},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a@b/c?sslmode=prefer"}, "shop.url", "sslmode is one of disable, " +
			`require, verify-ca, verify-full, not "prefer"`},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a:" + long + "@b/c?sslrootcert=/nowhere"}, "shop.url",
			"unable to read CA file"},
		{"shop", sqlcall.DatabaseConfig{URL: "postgres://a:" + long + "@b:99999/c"}, "shop.url", "it cannot be used"},
	} {
		_, err := sqlcall.New(sqlcall.Config{Databases: map[string]sqlcall.DatabaseConfig{c.name: c.config}})
		var wrong *connector.SettingError
		if !errors.As(err, &wrong) || wrong.Key != "connectors.sql.databases."+c.key || !strings.Contains(err.Error(),
			c.want) ||
			!strings.HasPrefix(err.Error(), wrong.Key+": ") {
			t.Errorf("%+v: %v\nwant %s at %s", c.config, err, c.want, c.key)
		}
		if err != nil && strings.Contains(err.Error(), "planted") {
			t.Errorf("the password is in %v", err)
		}
	}
	if _, err := sqlcall.New(sqlcall.Config{}); err == nil || !strings.Contains(err.Error(),
		"connectors.sql.databases is missing") {
		t.Errorf("without databases: %v", err)
	}
}

// The timeout of a call is that of its database, and grants can name the database.
func TestCallsKnowTheirDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := open(t, map[string]sqlcall.DatabaseConfig{
		"quick": {File: filepath.Join(dir, "a.db"), Timeout: time.Second}, "usual": {File: filepath.Join(dir, "b.db")},
	})
	for name, want := range map[string]time.Duration{"quick": time.Second, "usual": 30 * time.Second} {
		call := newCall(t, "query", asked(name, "SELECT 1"))
		if got, ok := r.Timeout(call); got != want || !ok {
			t.Errorf("%s has %s, %v", name, got, ok)
		}
		if got := r.Host(call); got != name {
			t.Errorf("grants name %s as %q", name, got)
		}
	}
}

package sqlcall

import (
	"strings"
	"testing"
)

// Only the configuration says where a server is: what the environment has for PostgreSQL's own programs is overruled.
func TestServerIgnoresTheEnvironment(t *testing.T) {
	for _, name := range []string{"PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGAPPNAME",
		"PGCONNECT_TIMEOUT", "PGSSLMODE", "PGSSLKEY", "PGSSLCERT", "PGSSLCERTMODE", "PGSSLSNI", "PGSSLROOTCERT",
		"PGSSLPASSWORD", "PGSSLNEGOTIATION", "PGTARGETSESSIONATTRS", "PGTZ", "PGOPTIONS", "PGMINPROTOCOLVERSION",
		"PGMAXPROTOCOLVERSION", "PGCHANNELBINDING", "PGREQUIREAUTH"} {
		t.Setenv(name, "planted")
	}
	server, err := newServer("shop", DatabaseConfig{URL: "postgres://u@db.example.com/shop"})
	if err != nil {
		t.Fatal(err)
	}
	if server.Host != "db.example.com" || server.Port != 5432 || server.User != "u" || server.Password != "" ||
		server.Database != "shop" || server.TLSConfig == nil || server.TLSConfig.ServerName != "db.example.com" ||
		server.TLSConfig.InsecureSkipVerify || len(server.Fallbacks) != 0 || len(server.RuntimeParams) != 1 ||
		server.RequireAuth != "" || server.ConnectTimeout != 0 {
		t.Errorf("%+v", server.Config)
	}
}

// The connection is encrypted and the certificate verified, unless the server is this machine or sslmode says
// otherwise. Where the server is not verified, no method is used that shows the password.
func TestServerEncryption(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://u@db.example.com/shop":                     "verified",
		"postgres://u@db.example.com/shop?sslmode=require":     "encrypted hidden",
		"postgres://u@db.example.com/shop?sslmode=disable":     "plain hidden",
		"postgres://u@db.example.com/shop?sslmode=verify-full": "verified",
		"postgres://u@localhost/shop":                          "plain",
		"postgres://u@127.0.0.1:5433/shop":                     "plain",
		"postgres://u@[::1]:5433/shop":                         "plain",
		"postgres://u@/shop?host=/run/my%20socket":             "plain",
		"postgres://u@localhost/shop?sslmode=verify-full":      "verified",
	} {
		server, err := newServer("shop", DatabaseConfig{URL: url, Password: "planted@:/"})
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := []string{"plain"}
		if server.TLSConfig != nil {
			got[0] = "verified"
			if server.TLSConfig.InsecureSkipVerify {
				got[0] = "encrypted"
			}
		}
		if server.RequireAuth != "" {
			got = append(got, "hidden")
		}
		if strings.Join(got, " ") != want || server.Password != "planted@:/" {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
		if strings.Contains(url, "socket") && server.Host != "/run/my socket" {
			t.Errorf("%s: the socket is in %q", url, server.Host)
		}
	}
}

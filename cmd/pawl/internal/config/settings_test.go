package config

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
)

func TestConfigKeepsDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	text := `
policies:
  transient: {retries: 9}
  storage: {wait: 3s}
  script: {memory: 256MiB}
connectors:
  http:
    hosts:
      api.example.com:
        timeout: 4s
        quiet: 0s
        headers: {Authorization: "Bearer ${env:TOKEN}"}
        reconcile: {get: "/orders?key={idempotencyKey}", applied: {status: 200}, failed: {status: 404}}
  csv: {root: sheets}
  smtp: {server: "smtp.example.com:465", from: [a@example.com], username: "${env:TOKEN}", password: "${env:TOKEN}"}
  imap: {server: "imap.example.com:993", username: pawl, password: "${env:TOKEN}"}
  sql: {databases: {shop: {url: "postgres://pawl@localhost/shop", password: "${env:TOKEN}"}, notes: {file: notes.db}}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := Reader{Flags: Common{Config: path}, Env: func(name string) (string, bool) { return "s3cret", name == "TOKEN" }}
	s, err := conf.Settings(Engine{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := schedule.Default()
	want.Transient.Retries, want.Storage.Wait, want.Script.Memory = 9, 3*time.Second, 256*schedule.MiB
	if s.Policies != want {
		t.Errorf("policies %+v\nwant %+v", s.Policies, want)
	}
	host := s.Connectors.HTTP.Hosts["api.example.com"]
	if host.Timeout != 4*time.Second || host.Headers["Authorization"] != "Bearer s3cret" ||
		host.Reconcile.Failed.Status != 404 {
		t.Errorf("host %+v", host)
	}
	if host.Quiet == nil || *host.Quiet != 0 || !slices.Contains(s.Connectors.HTTP.Secrets, "s3cret") {
		t.Errorf("quiet %v, secrets %q", host.Quiet, s.Connectors.HTTP.Secrets)
	}
	if !slices.Contains(s.Connectors.SMTP.Secrets, "s3cret") {
		t.Errorf("smtp blanks out %q", s.Connectors.SMTP.Secrets)
	}
	if !slices.Contains(s.Connectors.IMAP.Secrets, "s3cret") || s.Connectors.IMAP.Password != "s3cret" {
		t.Errorf("imap blanks out %q", s.Connectors.IMAP.Secrets)
	}
	databases := s.Connectors.SQL.Databases
	if !slices.Contains(s.Connectors.SQL.Secrets, "s3cret") || databases["shop"].Password != "s3cret" ||
		databases["notes"].File != filepath.Join(filepath.Dir(path), "notes.db") || databases["shop"].File != "" {
		t.Errorf("sql is %+v", s.Connectors.SQL)
	}
	if got, want := s.Connectors.CSV.Root, filepath.Join(filepath.Dir(path), "sheets"); got != want {
		t.Errorf("csv root %s, want %s", got, want)
	}
}

func TestAddressWithoutHostIsThisMachine(t *testing.T) {
	for given, want := range map[string]string{":0": "127.0.0.1:0", ":7070": "127.0.0.1:7070",
		"0.0.0.0:7070": "0.0.0.0:7070", "[::1]:1": "[::1]:1", "nonsense": "nonsense"} {
		if got := (Settings{HTTP: given}).Address(); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}

func TestStateHome(t *testing.T) {
	env := func(values map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	}
	if got, want := stateHome(env(map[string]string{"XDG_STATE_HOME": "/var/state"})), "/var/state/pawl"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := stateHome(env(map[string]string{"XDG_STATE_HOME": "relative"})); strings.HasPrefix(got, "relative") {
		t.Errorf("a relative XDG_STATE_HOME must be ignored, got %s", got)
	}
}

// Where no variable names the caller, the operating system does.
func TestAs(t *testing.T) {
	t.Parallel()
	r := Reader{Env: func(name string) (string, bool) { return "ann", name == "USER" }}
	if got := r.As(); got != "ann" {
		t.Errorf("by the environment: %q", got)
	}
	known, err := user.Current()
	if err != nil {
		t.Skipf("the operating system does not know this user: %v", err)
	}
	r.Env = func(string) (string, bool) { return "", false }
	if got := r.As(); got == "" || !strings.HasSuffix(known.Username, got) {
		t.Errorf("without: %q, want %q", got, known.Username)
	}
}

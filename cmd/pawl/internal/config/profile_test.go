package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
)

// inProfile reads a text with the profile chosen.
func inProfile(t *testing.T, text, profile string) (File, string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadFile(path, true, profile)
	return c, path, err
}

const profiled = `
http: 127.0.0.1:1
as: "true"
public-url: https://a.example/x?y={z}#no
maildir: mail
connectors:
  http:
    hosts:
      api.example.com: &host {timeout: 4s, headers: {X-A: "1", X-B: "0123"}, reads: [POST /a, POST /b]}
      other.example.com: *host
policies:
  transient: {retries: 9, base: 2s}
profiles:
  staging:
    data: ./staging
    public-url:
    connectors:
      http:
        hosts:
          other.example.com:
          api.example.com: {timeout: 7s, headers: {X-B: "1.10 \u2028 <\U0001F600>"}, reads: [POST /c]}
          new.example.com: {private: true}
    policies: {transient: {retries: 3}}
  empty:
`

// The settings of a profile replace those of the rest of the file: keys with keys below them are merged, all else is
// replaced, a key without a value takes away, and what it does not name stays, whatever it looks like.
func TestAProfileHoldsOverTheFile(t *testing.T) {
	t.Parallel()
	c, path, err := inProfile(t, profiled, "staging")
	if err != nil {
		t.Fatal(err)
	}
	hosts := c.Connectors.HTTP.Hosts
	api := hosts["api.example.com"]
	if api.Timeout != 7*time.Second || api.Headers["X-A"] != "1" || api.Headers["X-B"] != "1.10 \u2028 <\U0001F600>" ||
		strings.Join(api.Reads, ",") != "POST /c" {
		t.Errorf("api %+v", api)
	}
	if _, stays := hosts["other.example.com"]; stays || !hosts["new.example.com"].Private || c.PublicURL != "" {
		t.Errorf("hosts %+v", hosts)
	}
	dir := filepath.Dir(path)
	if c.HTTP != "127.0.0.1:1" || c.As != "true" ||
		c.Data != filepath.Join(dir, "staging") || c.Maildir != filepath.Join(dir, "mail") {
		t.Errorf("%+v", c)
	}
	want := schedule.Default()
	want.Transient.Retries, want.Transient.Base = 3, 2*time.Second
	if c.Policies != want {
		t.Errorf("policies %+v", c.Policies)
	}
	plain, _, err := inProfile(t, profiled, "")
	if err != nil || plain.Data != "" || plain.Connectors.HTTP.Hosts["api.example.com"].Timeout != 4*time.Second ||
		plain.Policies.Transient.Retries != 9 {
		t.Errorf("without a profile: %v %+v", err, plain)
	}
	if c, _, err = inProfile(t, profiled, "empty"); err != nil || c.HTTP != plain.HTTP || c.Policies != plain.Policies ||
		c.PublicURL != "https://a.example/x?y={z}#no" ||
		c.Connectors.HTTP.Hosts["other.example.com"].Headers["X-B"] != "0123" {
		t.Errorf("a profile without keys: %v %+v", err, c)
	}
}

// What is wrong with a profile is named with its place, also while another one is chosen or none.
func TestProfilesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, profile, want string }{
		{profiled, "prod", `c.yaml:14:10: there is no profile "prod"`},
		{"http: a", "prod", `c.yaml: there is no profile "prod"`},
		{"", "prod", `there is no profile "prod"`},
		{"profiles:\n  a: {htp: x}", "", `c.yaml:2:7: there is no key "htp" here`},
		{"profiles:\n  a: {policies: {session: {maxRuns: x}}}", "",
			"c.yaml:2:37: profiles.a.policies.session.maxRuns: want a whole number"},
		{"profiles:\n  a: {profiles: {b: {}}}", "", "c.yaml:2:7: profiles.a: a profile holds no profiles"},
		{"profiles:\n  a: {profiles: {b: {}}}", "a", "c.yaml:2:7: profiles.a: a profile holds no profiles"},
		{"sync: always\nprofiles:\n  a: {sync: never}", "a", "c.yaml:3:13: "},
		{"maildir: x\nprofiles:\n  a: {connectors: {maildir: {root: y}}}", "a", "c.yaml:1:10: both maildir and"},
	} {
		_, _, err := inProfile(t, c.text, c.profile)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with profile %q: %v, want %s", c.text, c.profile, err, c.want)
		}
	}
	conf := Reader{Flags: Common{Profile: "a", Data: t.TempDir()}, Env: func(string) (string, bool) { return "", false }}
	if _, err := conf.ReadConfig(); err == nil || !strings.Contains(err.Error(), "no pawl.yaml here") {
		t.Errorf("without a file: %v", err)
	}
}

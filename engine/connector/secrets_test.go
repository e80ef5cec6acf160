package connector_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
)

func secrets(t *testing.T) connector.Secrets {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"token": "from file\r\n", "empty": "\n",
		"big": strings.Repeat("x", 70_000)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return connector.Secrets{Dir: dir, LookupEnv: func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": "abc", "EMPTY": ""}[name]
		return value, ok
	}}
}

func TestSecretsExpand(t *testing.T) {
	s := secrets(t)
	for text, want := range map[string]string{
		"plain $5":                       "plain $5",
		"Bearer ${env:TOKEN}":            "Bearer abc",
		"${env:TOKEN}:${file:token}!":    "abc:from file!",
		"$${env:TOKEN} and ${env:TOKEN}": "${env:TOKEN} and abc",
	} {
		if got, err := s.Expand(text); err != nil || got != want {
			t.Errorf("Expand(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for text, named := range map[string]string{
		"${env:MISSING}": "MISSING", "${env:EMPTY}": "EMPTY", "${file:gone}": "gone", "${file:empty}": "empty",
		"${file:big}": "big", "${TOKEN}": "${TOKEN}", "${env:}": "env:", "${env:TOKEN": "without }",
	} {
		got, err := s.Expand(text)
		if err == nil || !strings.Contains(err.Error(), named) {
			t.Errorf("Expand(%q) = %q, %v, want an error that names %s", text, got, err, named)
		}
	}
}

// Expanding values reports which of them are secrets: a secret is known by the place it came from.
func TestSecretsAreToldWhenTheyAreFilledIn(t *testing.T) {
	var found []string
	s := connector.Secrets{
		LookupEnv: func(name string) (string, bool) { return "value of " + name, true },
		Found:     func(value string) { found = append(found, value) },
	}
	config := struct{ A, B, C string }{"Bearer ${env:X}", "plain $${env:Y}", "${env:Z}-${env:X}"}
	if err := s.ExpandAll(&config); err != nil {
		t.Fatal(err)
	}
	if want := []string{"value of X", "value of Z", "value of X"}; !slices.Equal(found, want) {
		t.Errorf("told %q, want %q", found, want)
	}
}

func TestSecretsExpandAll(t *testing.T) {
	s := secrets(t)
	type host struct {
		Headers map[string]string `yaml:"headers"`
		Inner   *struct{ Get string }
	}
	config := struct {
		Hosts map[string]host `yaml:"hosts"`
		List  []any           `yaml:"list"`
		N     int
	}{
		Hosts: map[string]host{"h": {Headers: map[string]string{"A": "${env:TOKEN}"},
			Inner: &struct{ Get string }{"${file:token}"}}},
		List: []any{"${env:TOKEN}", map[string]any{"k": "${env:TOKEN}"}, 3},
	}
	if err := s.ExpandAll(&config); err != nil {
		t.Fatal(err)
	}
	if h := config.Hosts["h"]; h.Headers["A"] != "abc" || h.Inner.Get != "from file" {
		t.Errorf("host = %+v", h)
	}
	if config.List[0] != "abc" || config.List[1].(map[string]any)["k"] != "abc" || config.List[2] != 3 {
		t.Errorf("list = %v", config.List)
	}
	config.Hosts["h"].Headers["B"] = "secret ${env:MISSING}"
	if err := s.ExpandAll(&config); err == nil || !strings.Contains(err.Error(), "hosts.h.headers.B") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("error = %v, want the key and not the value", err)
	}
}

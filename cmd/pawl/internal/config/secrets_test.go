package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Secrets are references: one, or several while one is replaced. The file has none itself, and no error shows one.
func TestSecretsOfTheFile(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"NEW": "planted-new", "OLD": "planted-old", "EMPTY": "", "LINES": "planted\nx"}[name]
		return value, ok
	}
	c, err := loadText(t, "secrets:\n  A: {value: \"${env:NEW}\"}\n  B:\n    value: [\"${env:NEW}\", \"${file:b.txt}\"]\n"+
		"    hosts: [api.example.com]\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(c.Path), "b.txt"), []byte("planted-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Expand(env); err != nil {
		t.Fatal(err)
	}
	a, _ := c.Values.Lookup("A")
	b, _ := c.Values.Lookup("B")
	if !slices.Equal(a.Values(), []string{"planted-new"}) || !slices.Equal(b.Values(), []string{"planted-new",
		"planted-file"}) || !slices.Equal(b.Hosts(), []string{"api.example.com"}) ||
		!slices.Equal(c.SecretNames(), []string{"A", "B"}) {
		t.Errorf("A and B are not what the file says: %s", c.Values)
	}
	for text, want := range map[string]string{
		"secrets: {A: {value: planted}}":          "c.yaml:1:22: secrets.A.value stands in the file itself",
		"secrets: {A: {value: \"$${env:NEW}\"}}":  "stands in the file itself",
		"secrets: {A: {value: 5}}":                "want ${env:NAME} or ${file:PATH}, or a list of them, found 5",
		"secrets: {A: {value: []}}":               "secrets.A has no value",
		"secrets: {A: {hosts: [a]}}":              "secrets.A has no value",
		"secrets: {a-b: {value: \"${env:NEW}\"}}": "secrets: the name \"a-b\"",
		"secrets: {A: {valeu: x}}":                "there is no key \"valeu\" here",
		"secrets: {A: {value: \"${env:GONE}\"}}":  "secrets.A.value: expand ${env:GONE}",
		"secrets: {A: {value: \"${env:EMPTY}\"}}": "is empty",
		"secrets: {A: {value: \"${env:LINES}\"}}": "control character",
		"secrets: {A: {value: \"${file:none}\"}}": "secrets.A.value: expand ${file:none}",
		"secrets: [A]":                            "want keys with values",
	} {
		c, err := loadText(t, text)
		if err == nil {
			err = c.Expand(env)
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

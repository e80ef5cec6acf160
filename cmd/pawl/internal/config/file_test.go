package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/schedule"
)

func loadText(t *testing.T, text string) (File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadFile(path, true, "")
}

// A mistake in the file is named with its place, its key, what is there and what may be.
func TestConfigMistakesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"policies:\n  transient: {retries: 1.5}": "c.yaml:2:24: policies.transient.retries: want a whole number, " +
			"found 1.5",
		"policies: {session: {maxRuns: 1e2}}": "c.yaml:1:31: policies.session.maxRuns: want a whole number, " +
			"found \"1e2\"",
		"policies: {session: {maxRuns: \"7\"}}": `policies.session.maxRuns: want a whole number, found "7"`,
		"policies: {session: {maxRuns: [1]}}":   "policies.session.maxRuns: want a whole number, found a list",
		"policies: {transient: {factor: two}}":  `policies.transient.factor: want a number, found "two"`,
		"policies: {reconcile: {base: abc}}": `c.yaml:1:30: policies.reconcile.base: want a duration such as ` +
			`500ms, 10s or 5m, found "abc"`,
		"policies: {reconcile: {base: 5}}": "policies.reconcile.base: want a duration such as " +
			"500ms, 10s or 5m, found 5",
		"policies: {reconcile: {base: 0}}": "policies.reconcile.base: want a duration such as " +
			"500ms, 10s or 5m, found 0",
		"policies: {script: {memory: 12MB}}": `policies.script.memory: want a size such as 128MiB, ` +
			`256KiB or 4096, found "12MB"`,
		"policies: {script: {memory: 1.5}}": "policies.script.memory: want a size such as 128MiB, " +
			"256KiB or 4096, found 1.5",
		"policies: 3": "policies: want keys with values, found 3",
		"http: [a]": "c.yaml:1:7: http: want text (in quotes, " +
			"if it looks like something else), found a list",
		"http: {a: b}": "http: want text (in quotes, if it looks like something else), " +
			"found keys with values",
		"as: 0123": "as: want text (in quotes, if it looks like something else), " +
			"found 0123",
		"as: 1.10": "as: want text (in quotes, if it looks like something else), " +
			"found 1.10",
		"no-auth: yes":  `no-auth: want true or false, found "yes"`,
		"until-idle: 1": "until-idle: want true or false, found 1",
		"- http":        "c.yaml:1:1: the file: want keys with values, found a list",
		"connectors: {http: {hosts: {a: {timeut: 1s}}}}": `c.yaml:1:33: there is no key "timeut" here`,
		"connectors: {csv: {root: [a]}}":                 "connectors.csv.root: want text",
		"http: a\n---\nhttp: b":                          "c.yaml:3:5: a second YAML document begins here",
		"http: a\nhttp: b":                               "c.yaml:2:1: mapping key \"http\" already defined",
		"http: *gone": "c.yaml:1:7: http: there is no anchor " +
			"&gone before this",
		"policies: &p {transient: *p}":                               "policies.transient: there is no anchor &p before this",
		"policies: {transient: &a {base: 1s, retries: 1}, wake: *a}": `c.yaml:1:27: there is no key "base" here`,
		"policies:\n  wake:\n    max: 1s": "c.yaml:3:10: policies.wake.max: " +
			"1s must be at least wake.min",
		"policies: {wake: {min: 48h}}": "c.yaml:1:18: policies.wake.max: " +
			"24h0m0s must be at least wake.min",
		"sync: sometimes": `c.yaml:1:7: sync: "sometimes" is ` +
			`neither always nor an interval`,
		"\nclock: sundial": `c.yaml:2:8: clock: "sundial" is ` +
			`neither system nor manual`,
		"require-sandbox: most":                "c.yaml:1:18: require-sandbox: ",
		"csv: a\nconnectors: {csv: {root: b}}": "c.yaml:1:6: both csv and connectors.csv.root are set",
	} {
		_, err := loadText(t, text)
		var f *exit.Failure
		if !errors.As(err, &f) || f.Code != exit.CodeUsage || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "unmarshal") {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestConfigTakesWhatYAMLHas(t *testing.T) {
	for text, want := range map[string]string{
		"\ufeffas: ann":                 "ann",
		"as: 'ann'\n---\n":              "ann",
		"---\nas: |-\n  ann":            "ann",
		"as: 42":                        "42",
		"as: !!str 42":                  "42",
		"as:\npolicies:\nconnectors:\n": "",
		"# nothing\n---\n":              "",
		"\ufeff":                        "",
	} {
		c, err := loadText(t, text)
		if err != nil || c.As != want || c.Policies != schedule.Default() {
			t.Errorf("%q: as %q, policies %+v, %v", text, c.As, c.Policies, err)
		}
	}
	for text, want := range map[string]float64{"2": 2, "1.5": 1.5, "1e1": 10} {
		if c, err := loadText(t, "policies: {transient: {factor: "+text+"}}"); err != nil ||
			c.Policies.Transient.Factor != want {
			t.Errorf("factor %s: %v, %v", text, c.Policies.Transient.Factor, err)
		}
	}
	c, err := loadText(t, "policies: {transient: &t {base: 2s}, reconcile: {<<: *t, factor: 3}}")
	if err != nil || c.Policies.Reconcile.Base != c.Policies.Transient.Base || c.Policies.Reconcile.Factor != 3 {
		t.Errorf("merged: %+v, %v", c.Policies, err)
	}
}

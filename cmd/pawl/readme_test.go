package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/engine/schedule"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What CONFIG.md shows as configuration is one, and its policies are the defaults.
func TestConfigurationOfTheManual(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "CONFIG.md"), "```yaml\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("CONFIG.md has no yaml block")
	}
	path := filepath.Join(t.TempDir(), config.FileName)
	if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := config.Reader{Env: variables(map[string]string{"API_TOKEN": "x", "CRM_SECRET": "y",
		"GITHUB_WEBHOOK_SECRET": "g",
		"SHOP_KEY":              "s", "STRIPE_NEW": "n", "STRIPE_OLD": "o", "SMTP_PASSWORD": "p",
		"SHOP_PASSWORD": "shop"})}
	c, err := config.LoadFile(path, true, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Expand(conf.Env); err != nil {
		t.Error(err)
	}
	if c.Policies != schedule.Default() {
		t.Errorf("policies %+v\nwant %+v", c.Policies, schedule.Default())
	}
}

// Every setting stands in the table of CONFIG.md.
func TestSettingsOfTheManual(t *testing.T) {
	manual := read(t, "CONFIG.md")
	grammar := testGrammar(t, &commandLine{}, nil)
	for _, flag := range allFlags(grammar.Model.Node) {
		if flag.Tag.Has("setting") && flag.Name != "config" && !flag.Hidden &&
			!regexp.MustCompile("(?m)^\\|.*`"+regexp.QuoteMeta(flag.Name)+"`.*\\|").MatchString(manual) {
			t.Errorf("the table of CONFIG.md lacks %s", flag.Name)
		}
	}
}

// The README is a first page: it says the main things in at most a thousand words.
func TestReadmeIsShort(t *testing.T) {
	if n := len(strings.Fields(read(t, "../../README.md"))); n > 1000 {
		t.Errorf("the README has %d words, want at most 1000", n)
	}
}

// Each metric that the operator's manual names is exported.
func TestMetricsOfTheManual(t *testing.T) {
	source := ""
	for _, file := range []string{"metrics/metrics.go", "metrics/progress.go", "metrics/workers.go", "feed/figures.go"} {
		source += read(t, "../../ops/"+file)
	}
	named := regexp.MustCompile("(?m)^\\| `(pawl_[a-z_]+)` \\|").FindAllStringSubmatch(read(t, "../../ops/OPERATIONS.md"),
		-1)
	if len(named) == 0 {
		t.Fatal("OPERATIONS.md names no metric")
	}
	for _, found := range named {
		if !strings.Contains(source, `"`+found[1]+`"`) {
			t.Errorf("there is no metric %s", found[1])
		}
	}
}

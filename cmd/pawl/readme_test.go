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

// What CONFIG.md shows as configuration is one, and its policies are the defaults; so is what OPERATIONS.md shows.
func TestConfigurationOfTheManual(t *testing.T) {
	env := variables(map[string]string{"API_TOKEN": "x", "CRM_SECRET": "y", "GITHUB_WEBHOOK_SECRET": "g", "SHOP_KEY": "s",
		"STRIPE_NEW": "n", "STRIPE_OLD": "o", "SMTP_PASSWORD": "p", "IMAP_PASSWORD": "i",
		"SHOP_PASSWORD": "shop", "NOTES_TOKEN": "t", "TICKETS_TOKEN": "t",
		"WAREHOUSE_SECRET": webhookSecret, "PAGER_SECRET": webhookSecret, "CHAT_WEBHOOK": "https://chat.example.com/T/1"})
	for _, page := range []string{"CONFIG.md", "../../ops/OPERATIONS.md"} {
		_, rest, _ := strings.Cut(read(t, page), "```yaml\n")
		block, _, found := strings.Cut(rest, "```")
		if !found {
			t.Fatalf("%s has no yaml block", page)
		}
		path := filepath.Join(t.TempDir(), config.FileName)
		if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.LoadFile(path, true, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Expand(env); err != nil {
			t.Error(err)
		}
		if c.Policies != schedule.Default() {
			t.Errorf("%s: policies %+v\nwant %+v", page, c.Policies, schedule.Default())
		}
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
	for _, file := range []string{"metrics/metrics.go", "metrics/progress.go", "metrics/workers.go", "feed/figures.go",
		"subscription/figures.go", "trace/queue.go"} {
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

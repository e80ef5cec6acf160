package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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

// What the README shows as configuration is one, and its policies are the defaults.
func TestReadmeConfiguration(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "../../README.md"), "```yaml\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the README has no yaml block")
	}
	path := filepath.Join(t.TempDir(), configName)
	if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	a := testApp(t, map[string]string{"API_TOKEN": "x"})
	c, err := a.loadConfig(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.expand(a.env); err != nil {
		t.Error(err)
	}
	if c.Policies != schedule.Default() {
		t.Errorf("policies %+v\nwant %+v", c.Policies, schedule.Default())
	}
}

// Every setting stands in the README's table.
func TestReadmeSettings(t *testing.T) {
	readme := read(t, "../../README.md")
	grammar, err := newGrammar(&commandLine{}, testApp(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range allFlags(grammar.Model.Node) {
		if flag.Tag.Has("setting") && flag.Name != "config" && !flag.Hidden && !regexp.MustCompile("(?m)^\\|.*`"+regexp.QuoteMeta(flag.Name)+"`.*\\|").MatchString(readme) {
			t.Errorf("the README's table lacks %s", flag.Name)
		}
	}
}

// The loop in the README has the cases of the loop in the code, in its order.
func TestReadmeLoop(t *testing.T) {
	cases := regexp.MustCompile(`case decide\.(\w+):`)
	names := func(text string) []string {
		var names []string
		for _, found := range cases.FindAllStringSubmatch(text, -1) {
			names = append(names, found[1])
		}
		return names
	}
	step, _, _ := strings.Cut(read(t, "../../engine/step.go"), "panic(")
	want := names(step)
	if got := names(read(t, "../../README.md")); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the README has %v\nengine/step.go has %v", got, want)
	}
}

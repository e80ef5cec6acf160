package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The commands that the pages beside the code show are ones: they parse. What they do is tested where
// it is done (TestExampleTool for the tool, TestFeedThroughKills for the follower).
func TestPagesShowCommands(t *testing.T) {
	page := read(t, "../../engine/connector/CONNECTORS.md") + read(t, "../../ops/FEED.md")
	t.Chdir(t.TempDir())
	for _, script := range []string{"counting.ts", "orders.ts"} {
		if err := os.WriteFile(script, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	word := regexp.MustCompile(`(?:'[^']*'|[^\s'])+`)
	found := 0
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			args := word.FindAllString(strings.TrimSpace(line), -1)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "'", "")
			}
			if found++; slices.Contains([]string{"go", "npm", "node", "nats", "export"}, args[0]) {
				continue // the examples, which the tests build and run; for nats see TestNATSCommand
			}
			grammar := testGrammar(t, &commandLine{}, nil)
			if _, err := grammar.Parse(args[1:]); args[0] != "pawl" || err != nil {
				t.Errorf("%q is no command: %v", line, err)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d commands were found", found)
	}
}

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/pawl-run/pawl/cmd/pawl/internal/commands/rest"
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

// Each hint for a name of another program names commands, subcommands and flags that Pawl has.
func TestHintsElsewhereNameCommands(t *testing.T) {
	root := testGrammar(t, &commandLine{}, nil).Model.Node
	for name, hint := range commandsElsewhere {
		if namesCommand(root, []string{name}) == nil {
			t.Errorf("%s is a command here, and its hint is never seen", name)
		}
		named := regexp.MustCompile(`pawl ([^;,]+)`).FindAllStringSubmatch(hint, -1)
		if len(named) == 0 {
			t.Errorf("%s: %q names no command", name, hint)
		}
		for _, span := range named {
			if err := namesCommand(root, strings.Fields(span[1])); err != nil {
				t.Errorf("%s: %q: %v", name, hint, err)
			}
		}
	}
}

// A command that a page names in its text is one: each of its words up to the first argument, and each of its flags.
func TestPagesNameCommands(t *testing.T) {
	root := testGrammar(t, &commandLine{}, nil).Model.Node
	found := 0
	for _, page := range []string{"../../README.md", "../../sandbox/SCRIPTS.md", "../../ops/OPERATIONS.md",
		"../../ops/FEED.md", "../../ops/console/CONSOLE.md", "../../engine/connector/CONNECTORS.md",
		"../../engine/decide/RULES.md", "CONFIG.md", "MCP.md"} {
		for _, span := range regexp.MustCompile("`pawl\\s([^`]+)`").FindAllStringSubmatch(read(t, page), -1) {
			found++
			if err := namesCommand(root, strings.Fields(span[1])); err != nil {
				t.Errorf("%s: `pawl %s`: %v", page, span[1], err)
			}
		}
	}
	if found < 150 {
		t.Errorf("only %d commands were found", found)
	}
	for _, mistaken := range []string{"events redrive", "redrive --all", "nosuch", "why WORKFLOW --nosuch"} {
		if err := namesCommand(root, strings.Fields(mistaken)); err == nil {
			t.Errorf("`pawl %s` is taken for a command", mistaken)
		}
	}
}

// namesCommand returns an error unless the words begin with a command and all their flags are flags of it. A command
// that has commands of its own takes no other argument.
func namesCommand(node *kong.Node, words []string) error {
	arguments := false
	for _, word := range words {
		flag, isFlag := strings.CutPrefix(strings.Trim(word, "[]"), "--")
		flag, _, _ = strings.Cut(flag, "=")
		switch child := rest.ChildOf(node, word); {
		case isFlag && !hasFlag(node, flag):
			return fmt.Errorf("%s has no flag --%s", node.Path(), flag)
		case isFlag, word == "…":
			arguments = true
		case arguments:
		case child != nil:
			node = child
		case len(node.Children) > 0:
			return fmt.Errorf("%s has no command %s", node.Path(), word)
		default:
			arguments = true
		}
	}
	return nil
}

func hasFlag(node *kong.Node, name string) bool {
	groups := node.AllFlags(false)
	if node.DefaultCmd != nil {
		groups = append(groups, node.DefaultCmd.AllFlags(false)...)
	}
	return slices.ContainsFunc(groups, func(flags []*kong.Flag) bool {
		return slices.ContainsFunc(flags, func(f *kong.Flag) bool {
			return f.Name == name || slices.Contains(f.Aliases, name)
		})
	})
}

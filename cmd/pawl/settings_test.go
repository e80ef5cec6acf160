package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// variables is an environment with these alone.
func variables(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// testGrammar parses command lines in this environment, and prints nothing.
func testGrammar(t *testing.T, line *commandLine, env map[string]string) *kong.Kong {
	t.Helper()
	grammar, err := newGrammar(line, term.Screen{Out: io.Discard, Err: io.Discard, Env: variables(env)})
	if err != nil {
		t.Fatal(err)
	}
	return grammar
}

// Every command gets what it asks for: kong looks for it only when the command runs.
func TestCommandsAreGivenWhatTheyTake(t *testing.T) {
	given := []reflect.Type{
		reflect.TypeFor[context.Context](), reflect.TypeFor[term.Screen](), reflect.TypeFor[config.Reader](),
		reflect.TypeFor[*client.Finder](), reflect.TypeFor[storage.Parts](),
	}
	for _, command := range testGrammar(t, &commandLine{}, nil).Model.Leaves(false) {
		run := command.Target.Addr().MethodByName("Run")
		if !run.IsValid() {
			t.Errorf("%s has no Run", command.Path())
			continue
		}
		for in := range run.Type().Ins() {
			if !slices.Contains(given, in) {
				t.Errorf("%s takes a %s, which program.execute does not give", command.Path(), in)
			}
		}
	}
}

// allFlags yields every flag of every command.
func allFlags(node *kong.Node) []*kong.Flag {
	flags := slices.Clone(node.Flags)
	for _, child := range node.Children {
		flags = append(flags, allFlags(child)...)
	}
	return flags
}

// Every lasting setting is a flag, a variable and a key of the configuration file, by one name.
func TestSettingsHaveAKey(t *testing.T) {
	grammar := testGrammar(t, &commandLine{}, nil)
	keys := map[string]bool{}
	for field := range reflect.TypeFor[config.File]().Fields() {
		if key := field.Tag.Get("yaml"); key != "" {
			keys[key] = true
		}
	}
	// The file cannot say where it is itself, nor which of its profiles holds.
	unused := map[string]bool{"connectors": true, "policies": true, "secrets": true, "profiles": true,
		"vars": true, "servers": true, "subscriptions": true, "recordings": true,
		"alerts": true}
	for _, flag := range allFlags(grammar.Model.Node) {
		if !flag.Tag.Has("setting") || flag.Name == "config" || flag.Name == "profile" {
			continue
		}
		if !keys[flag.Name] {
			t.Errorf("flag --%s has no key in %s", flag.Name, config.FileName)
		}
		unused[flag.Name] = true
	}
	for key := range keys {
		if !unused[key] {
			t.Errorf("key %s has no flag", key)
		}
	}
}

func TestEnvironmentSetsFlags(t *testing.T) {
	var line commandLine
	grammar := testGrammar(t, &line, map[string]string{
		"PAWL_HTTP": "127.0.0.1:9", "PAWL_UNTIL_IDLE": "true", "PAWL_CSV": "", "PAWL_JSON": "true",
	})
	if _, err := grammar.Parse([]string{"up"}); err != nil {
		t.Fatal(err)
	}
	if line.Up.HTTP != "127.0.0.1:9" || line.Up.UntilIdle == nil || !*line.Up.UntilIdle || line.Up.CSV != "" {
		t.Errorf("got %+v", line.Up)
	}
	if _, err := grammar.Parse([]string{"up", "--http", "127.0.0.1:10"}); err != nil {
		t.Fatal(err)
	}
	if line.Up.HTTP != "127.0.0.1:10" {
		t.Errorf("the flag is weaker than the variable: %s", line.Up.HTTP)
	}
	if _, err := grammar.Parse([]string{"why"}); err != nil {
		t.Fatal(err)
	}
	if line.Why.JSON {
		t.Error("--json is no lasting setting")
	}
}

func TestFlagsMayStandBeforeTheirCommand(t *testing.T) {
	grammar := testGrammar(t, &commandLine{}, nil)
	for line, want := range map[string]string{
		"--url X why w":                   "why --url X w",
		"--url=X --json events list -w a": "events list --url=X --json -w a",
		"--data D --url X runs show w r":  "--data D runs show --url X w r",
		"--no-auth --http :0 up a.ts":     "up --no-auth --http :0 a.ts",
		"--yes connectors call a.b":       "connectors call --yes a.b",
		"why --url X":                     "why --url X",
		"--help":                          "--help",
		"--nonsense why":                  "--nonsense why",
		"--url why":                       "--url why",
		"--url X nothere":                 "--url X nothere",
		"-- why":                          "-- why",
	} {
		if got := strings.Join(commandFirst(grammar.Model.Node, strings.Fields(line)), " "); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}

// Where several places set a switch, the strongest decides, also when it says no.
func TestSwitchesFollowTheOrderOfSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), config.FileName)
	if err := os.WriteFile(path, []byte("plaintext: true\nuntil-idle: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		env  map[string]string
		want bool
	}{
		{args: nil, want: true},
		{args: []string{"--plaintext=false", "--until-idle=false"}, want: false},
		{env: map[string]string{"PAWL_PLAINTEXT": "false", "PAWL_UNTIL_IDLE": "false"}, want: false},
		{args: []string{"--plaintext", "--until-idle"}, env: map[string]string{"PAWL_PLAINTEXT": "false",
			"PAWL_UNTIL_IDLE": "false"}, want: true},
	} {
		var line commandLine
		grammar := testGrammar(t, &line, test.env)
		if _, err := grammar.Parse(append([]string{"serve"}, test.args...)); err != nil {
			t.Fatal(err)
		}
		s, err := config.Reader{Flags: config.Common{Config: path}, Env: variables(test.env)}.Settings(line.Serve.Engine,
			line.Serve.UntilIdle)
		if err != nil {
			t.Fatal(err)
		}
		if s.Plaintext != test.want || s.UntilIdle != test.want {
			t.Errorf("%v with %v: plaintext %t, until-idle %t, want %t", test.args, test.env, s.Plaintext, s.UntilIdle,
				test.want)
		}
	}
}

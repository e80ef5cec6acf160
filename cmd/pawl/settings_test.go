package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/schedule"
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
		reflect.TypeFor[context.Context](), reflect.TypeFor[term.Screen](), reflect.TypeFor[reader](),
		reflect.TypeFor[*finder](), reflect.TypeFor[parts](),
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
	for field := range reflect.TypeFor[config]().Fields() {
		if key := field.Tag.Get("yaml"); key != "" {
			keys[key] = true
		}
	}
	// The file cannot say where it is itself.
	unused := map[string]bool{"connectors": true, "policies": true}
	for _, flag := range allFlags(grammar.Model.Node) {
		if !flag.Tag.Has("setting") || flag.Name == "config" {
			continue
		}
		if !keys[flag.Name] {
			t.Errorf("flag --%s has no key in %s", flag.Name, configName)
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

func TestConfigKeepsDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), configName)
	text := `
policies:
  transient: {retries: 9}
  storage: {wait: 3s}
  script: {memory: 256MiB}
connectors:
  http:
    hosts:
      api.example.com:
        timeout: 4s
        quiet: 0s
        headers: {Authorization: "Bearer ${env:TOKEN}"}
        reconcile: {get: "/orders?key={idempotencyKey}", applied: {status: 200}, failed: {status: 404}}
  csv: {root: sheets}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := reader{Flags: common{Config: path}, Env: variables(map[string]string{"TOKEN": "s3cret"})}
	s, err := conf.settle(engineFlags{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := schedule.Default()
	want.Transient.Retries, want.Storage.Wait, want.Script.Memory = 9, 3*time.Second, 256*schedule.MiB
	if s.Policies != want {
		t.Errorf("policies %+v\nwant %+v", s.Policies, want)
	}
	host := s.Connectors.HTTP.Hosts["api.example.com"]
	if host.Timeout != 4*time.Second || host.Headers["Authorization"] != "Bearer s3cret" || host.Reconcile.Failed.Status != 404 {
		t.Errorf("host %+v", host)
	}
	if host.Quiet == nil || *host.Quiet != 0 || !slices.Equal(s.Connectors.HTTP.Secrets, []string{"s3cret"}) {
		t.Errorf("quiet %v, secrets %q", host.Quiet, s.Connectors.HTTP.Secrets)
	}
	if got, want := s.Connectors.CSV.Root, filepath.Join(filepath.Dir(path), "sheets"); got != want {
		t.Errorf("csv root %s, want %s", got, want)
	}
}

// Where several places set a switch, the strongest decides, also when it says no.
func TestSwitchesFollowTheOrderOfSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), configName)
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
		{args: []string{"--plaintext", "--until-idle"}, env: map[string]string{"PAWL_PLAINTEXT": "false", "PAWL_UNTIL_IDLE": "false"}, want: true},
	} {
		var line commandLine
		grammar := testGrammar(t, &line, test.env)
		if _, err := grammar.Parse(append([]string{"serve"}, test.args...)); err != nil {
			t.Fatal(err)
		}
		s, err := reader{Flags: common{Config: path}, Env: variables(test.env)}.settle(line.Serve.engineFlags, line.Serve.UntilIdle)
		if err != nil {
			t.Fatal(err)
		}
		if s.Plaintext != test.want || s.UntilIdle != test.want {
			t.Errorf("%v with %v: plaintext %t, until-idle %t, want %t", test.args, test.env, s.Plaintext, s.UntilIdle, test.want)
		}
	}
}

func TestAddressWithoutHostIsThisMachine(t *testing.T) {
	for given, want := range map[string]string{":0": "127.0.0.1:0", ":7070": "127.0.0.1:7070", "0.0.0.0:7070": "0.0.0.0:7070", "[::1]:1": "[::1]:1", "nonsense": "nonsense"} {
		if got := (settings{HTTP: given}).address(); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}

func TestStateHome(t *testing.T) {
	env := func(values map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	}
	if got, want := stateHome(env(map[string]string{"XDG_STATE_HOME": "/var/state"})), "/var/state/pawl"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := stateHome(env(map[string]string{"XDG_STATE_HOME": "relative"})); strings.HasPrefix(got, "relative") {
		t.Errorf("a relative XDG_STATE_HOME must be ignored, got %s", got)
	}
}

func TestRoom(t *testing.T) {
	free, failure := schedule.Size(0), error(nil)
	now := time.Unix(0, 0)
	r := &room{
		dir: "/data", logger: slog.New(slog.DiscardHandler), now: func() time.Time { return now },
		free: func(string) (schedule.Size, error) { return free, failure },
	}
	look := func() error { now = now.Add(roomFor); return r.check() }
	free = reserve
	if err := look(); err != nil {
		t.Errorf("with the reserve free: %v", err)
	}
	free = 12 * schedule.MiB
	if err := r.check(); err != nil {
		t.Errorf("looked again too soon: %v", err)
	}
	if err := look(); err == nil || !strings.Contains(err.Error(), "only 12 MiB are free on the disk of the data directory, pawl keeps 64MiB") {
		t.Errorf("with 12 MiB free: %v", err)
	}
	failure = errors.New("no such disk as /data")
	if err := look(); err == nil || strings.Contains(err.Error(), "/data") {
		t.Errorf("got %v", err)
	}
	failure, free = nil, schedule.GiB
	if err := look(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestStoreLimit(t *testing.T) {
	dir := t.TempDir()
	free := func(size schedule.Size) func(string) (schedule.Size, error) {
		return func(string) (schedule.Size, error) { return size, nil }
	}
	if got, want := storeLimit(dir, free(100*schedule.MiB)), int64(84*schedule.MiB); got != want {
		t.Errorf("empty: got %d, want %d", got, want)
	}
	if err := os.MkdirAll(filepath.Join(dir, "jetstream", "streams"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "jetstream", "streams", "1.blk"), make([]byte, 3*schedule.MiB), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := storeLimit(dir, free(100*schedule.MiB)), int64(87*schedule.MiB); got != want {
		t.Errorf("what is stored counts too: got %d, want %d", got, want)
	}
	if got, want := storeLimit(dir, free(0)), int64(schedule.MiB); got != want {
		t.Errorf("a full disk: got %d, want %d", got, want)
	}
	broken := func(string) (schedule.Size, error) { return 0, errors.New("no such disk") }
	if got := storeLimit(dir, broken); got != 0 {
		t.Errorf("an unknown disk: got %d, want the broker's own default, 0", got)
	}
	if size, err := freeSpace(dir); err != nil || size <= 0 {
		t.Errorf("this disk: %d, %v", size, err)
	}
}

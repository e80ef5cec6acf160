package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/pawl-run/pawl/engine/schedule"
)

// everyPolicy sets every key, each to its default.
const everyPolicy = `
transient: {base: 1s, factor: 2, max: 5m, retries: 5, then: retry}
reconcile: {base: 5s, factor: 2, max: 10m, attempts: 5}
repair:    {budget: 3}
wake:      {min: 30s, max: 24h}
session:   {maxRuns: 100}
storage:   {wait: 10s}
backlog:   {events: 1000000}
held:      {max: 1000}
chain: {depth: 1000}
script:    {cpu: 2s, wall: 30s, reads: 5m, memory: 128MiB, source: 256KiB, argument: 16MiB, result: 1MiB, state: 256KiB, publish: 3MiB, log: 64KiB, hostCalls: 1000, inFlight: 16, stack: 1000, handlers: 100, topics: 1000}
`

func decode(t *testing.T, text string, into *schedule.Policies) {
	t.Helper()
	if err := yaml.UnmarshalWithOptions([]byte(text), into, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
}

func TestPolicies_ReadFromConfiguration(t *testing.T) {
	var read schedule.Policies
	decode(t, everyPolicy, &read)
	if read != schedule.Default() {
		t.Errorf("every key at its default: got %+v, want %+v", read, schedule.Default())
	}

	shortened := schedule.Default()
	decode(t, "transient: {base: 10ms}\nscript: {memory: 96MiB}\n", &shortened)
	want := schedule.Default()
	want.Transient.Base, want.Script.Memory = 10*time.Millisecond, 96*schedule.MiB
	if shortened != want {
		t.Errorf("keys left out must keep their defaults: got %+v, want %+v", shortened, want)
	}
}

func TestPolicies_Validate(t *testing.T) {
	if err := schedule.Default().Validate(); err != nil {
		t.Fatalf("the defaults: %v", err)
	}
	for yaml, key := range map[string]string{
		"transient: {base: 0s}":       "policies.transient.base",
		"transient: {factor: 0.5}":    "policies.transient.factor",
		"transient: {factor: .nan}":   "policies.transient.factor",
		"transient: {factor: .inf}":   "policies.transient.factor",
		"transient: {max: 0s}":        "policies.transient.max",
		"transient: {retries: -1}":    "policies.transient.retries",
		"transient: {then: block}":    "policies.transient.then",
		"transient: {then: hold}":     "",
		"reconcile: {base: -1s}":      "policies.reconcile.base",
		"reconcile: {attempts: -1}":   "policies.reconcile.attempts",
		"repair: {budget: 0}":         "policies.repair.budget",
		"wake: {min: 0s}":             "policies.wake.min",
		"wake: {max: 1s}":             "policies.wake.max",
		"session: {maxRuns: 0}":       "policies.session.maxRuns",
		"storage: {wait: 0s}":         "policies.storage.wait",
		"backlog: {events: 0}":        "policies.backlog.events",
		"backlog: {events: 1}":        "",
		"held: {max: 0}":              "policies.held.max",
		"held: {max: 1}":              "",
		"script: {cpu: 0s}":           "policies.script.cpu",
		"script: {cpu: 11s}":          "policies.script.cpu",
		"script: {wall: 0s}":          "policies.script.wall",
		"script: {reads: 0s}":         "policies.script.reads",
		"script: {memory: 1MiB}":      "policies.script.memory",
		"script: {source: 0}":         "policies.script.source",
		"script: {result: 0}":         "policies.script.result",
		"script: {state: 0}":          "policies.script.state",
		"script: {publish: 0}":        "policies.script.publish",
		"script: {log: 0}":            "policies.script.log",
		"script: {inFlight: 0}":       "policies.script.inFlight",
		"script: {stack: 0}":          "policies.script.stack",
		"script: {stack: 100000}":     "policies.script.stack",
		"script: {argument: 0}":       "policies.script.argument",
		"script: {hostCalls: 0}":      "policies.script.hostCalls",
		"transient: {max: 1ms}":       "",
		"transient: {retries: 0}":     "",
		"script: {wall: 1s}":          "",
		"wake: {min: 1ms, max: 1ms}":  "",
		"reconcile: {attempts: 0}":    "",
		"storage: {wait: 1ms}":        "",
		"script: {memory: 64MiB}":     "",
		"session: {maxRuns: 1}":       "",
		"transient: {factor: 1}":      "",
		"repair: {budget: 1}":         "",
		"script: {cpu: 10s}":          "",
		"script: {result: 4096}":      "",
		"reconcile: {base: 1h}":       "",
		"script: {reads: 1ns}":        "",
		"reconcile: {factor: 1.0001}": "",
	} {
		policies := schedule.Default()
		decode(t, yaml, &policies)
		err := policies.Validate()
		switch {
		case key == "" && err != nil:
			t.Errorf("%s: %v", yaml, err)
		case key != "" && (err == nil || !strings.HasPrefix(err.Error(), key+": ")):
			t.Errorf("%s: got %v, want an error for %s", yaml, err, key)
		}
	}

	err := schedule.Policies{}.Validate()
	for _, key := range []string{"transient.base", "repair.budget", "script.hostCalls"} {
		if err == nil || !strings.Contains(err.Error(), "policies."+key) {
			t.Errorf("the zero policies: %v does not name %s", err, key)
		}
	}
}

func TestSize_Text(t *testing.T) {
	for text, want := range map[string]schedule.Size{
		"0": 0, "4096": 4096, "256KiB": 256 * schedule.KiB, "1 MiB": schedule.MiB, " 2GiB ": 2 * schedule.GiB,
	} {
		var got schedule.Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("UnmarshalText(%q) = %d, %v; want %d", text, got, err, want)
		}
		written, err := got.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again schedule.Size
		if err := again.UnmarshalText(written); err != nil || again != got {
			t.Errorf("%q is written as %q and read as %d, %v", text, written, again, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "128MB", "1.5MiB", "1e3", "8589934592GiB", "9223372036854775808"} {
		var got schedule.Size
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("UnmarshalText(%q) = %d, want an error", text, got)
		}
	}
}

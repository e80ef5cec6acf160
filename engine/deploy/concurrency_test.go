package deploy_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// concurrent is the workflow of these tests with a consumer of runs beside each other.
func concurrent() sandbox.Definition {
	d := workflow()
	c := &d.Consumers[0]
	c.Concurrency, c.Key, c.Rate = number(16), "customer.id", "10/s"
	d.Places = map[string]sandbox.Place{}
	for i, option := range []string{"concurrency", "key", "rate"} {
		d.Places[sandbox.PlaceKey([]string{"consumers", "record", option})] = sandbox.Place{Line: 60 + i, Column: 7}
	}
	return d
}

// C1, C2, C12: what a consumer says of its runs becomes a part of the definition.
func TestC1_ConcurrencyIsAccepted(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 16, eventlog.MaxConcurrency} {
		d := concurrent()
		d.Consumers[0].Concurrency = number(n)
		accepted, problems := checked(deploy.Input{Definition: d, Catalog: catalog(t)})
		if len(problems) != 0 {
			t.Fatal(problems)
		}
		got, _ := accepted.Definition.Consumer("record")
		if got.Concurrency != n || got.Key != "customer.id" || got.Rate != "10/s" {
			t.Errorf("accepted %+v", got)
		}
		if plain, _ := accepted.Definition.Consumer("notify"); plain.Concurrent() {
			t.Errorf("the other consumer is %+v", plain)
		}
	}
}

func TestC2_ConcurrencyIsRefused(t *testing.T) {
	t.Parallel()
	const isError = sandbox.SeverityError
	for name, tt := range map[string]struct {
		spoil func(*sandbox.ConsumerDefinition)
		want  []expectation
	}{
		"none at once": {func(c *sandbox.ConsumerDefinition) { c.Concurrency = number(0) },
			[]expectation{{isError, deploy.CodeConcurrency, 60, "from 1 to 256, and is 0", "concurrency: 1"}}},
		"less than none": {func(c *sandbox.ConsumerDefinition) { c.Concurrency = number(-3) },
			[]expectation{{isError, deploy.CodeConcurrency, 60, "from 1 to 256, and is -3", "concurrency: 1"}}},
		"too many": {func(c *sandbox.ConsumerDefinition) { c.Concurrency = number(257) },
			[]expectation{{isError, deploy.CodeConcurrency, 60, "from 1 to 256, and is 257", "concurrency: 256"}}},
		"key and rate without it": {func(c *sandbox.ConsumerDefinition) { c.Concurrency = nil }, []expectation{
			{isError, deploy.CodeConcurrency, 61, "has key, which means nothing without concurrency", "remove key"},
			{isError, deploy.CodeConcurrency, 62, "has rate, which means nothing without concurrency", "remove rate"}}},
		"an empty part": {func(c *sandbox.ConsumerDefinition) { c.Key = "customer..id" },
			[]expectation{{isError, deploy.CodeKey, 61, `"customer..id" is no path`, `write key: "customer.id"`}}},
		"every item": {func(c *sandbox.ConsumerDefinition) { c.Key = "items[*].id" },
			[]expectation{{isError, deploy.CodeKey, 61, `is no path`, `joined by dots`}}},
		"too long": {func(c *sandbox.ConsumerDefinition) { c.Key = strings.Repeat("a", 257) },
			[]expectation{{isError, deploy.CodeKey, 61, `is no path`, ``}}},
		"rate": {func(c *sandbox.ConsumerDefinition) { c.Rate = "0/s" },
			[]expectation{{isError, deploy.CodeConcurrency, 62, `rate "0/s" is no number from 1`, `"300/m"`}}},
		"rate in words": {func(c *sandbox.ConsumerDefinition) { c.Rate = "10 per second" },
			[]expectation{{isError, deploy.CodeConcurrency, 62, `rate "10 per second"`, `write rate: "10/s"`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := concurrent()
			tt.spoil(&d.Consumers[0])
			expect(t, deploy.Input{Definition: d, Catalog: catalog(t)}, tt.want...)
		})
	}
}

// Nothing follows from an option that could not be read: what is wrong with it is said already.
func TestC2_UnreadConcurrencySaysNothingElse(t *testing.T) {
	t.Parallel()
	d := concurrent()
	d.Consumers[0].Concurrency = nil
	d.Incomplete, d.Unread = true, []string{sandbox.PlaceKey([]string{"consumers", "record", "concurrency"})}
	found := sandbox.NewProblem(deploy.CodeConcurrency, sandbox.Place{Line: 60}, "concurrency must be a whole number", "x")
	expect(t, deploy.Input{Definition: d, Found: []sandbox.Problem{found}, Catalog: catalog(t)},
		expectation{sandbox.SeverityError, deploy.CodeConcurrency, 60, "whole number", ""})
}

func TestSuggestKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"id": "id", "customer.id": "customer.id", "$.customer.id": "customer.id", "/customer/id": "customer.id",
		"items[0].id": "items.0.id", `customer["id"]`: "customer.id", "customer['id']": "customer.id",
		"customer?.id": "customer.id", " id ": "id", ".id": "id", "id.": "id", "a..b": "a.b",
		"data[object].id": "data[object].id",
		"$":               "", ".": "", "items[*].id": "", "items[].id": "", "items.*.id": "", "Straße.größe": "Straße.größe",
	} {
		if got := deploy.SuggestKey(text); got != want {
			t.Errorf("SuggestKey(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSuggestRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10/sec": "10/s", "10 per second": "10/s", "10/1s": "10/s", "10 rps": "10/s", "100rpm": "100/m", "600/min": "600/m",
		"5 an hour": "5/h", "0.5/s": "30/m", "1.5/m": "90/h", "1000/day": "41/h", "10 / s": "10/s", "2000000/s": "",
		"10": "", "often": "", "0/s": "", "10/fortnight": "", "": "",
	} {
		got := deploy.SuggestRate(text)
		if got != want {
			t.Errorf("SuggestRate(%q) = %q, want %q", text, got, want)
		}
		if _, err := eventlog.ParseRate(got); err != nil {
			t.Errorf("SuggestRate(%q) is no rate: %v", text, err)
		}
	}
}

// C9: a repair keeps concurrency, key and rate; a deploy may change them.
func TestC9_RepairKeepsConcurrency(t *testing.T) {
	t.Parallel()
	of := func(line int, message, fix string) expectation {
		return expectation{sandbox.SeverityError, deploy.CodeRepair, line, message, fix}
	}
	for name, tt := range map[string]struct {
		change func(*sandbox.ConsumerDefinition)
		want   []expectation
	}{
		"as it was": {func(*sandbox.ConsumerDefinition) {}, nil},
		"number": {func(c *sandbox.ConsumerDefinition) { c.Concurrency = number(4) },
			[]expectation{of(60, `concurrency of consumer "record" from 16 to 4`, "write concurrency: 16")}},
		"key": {func(c *sandbox.ConsumerDefinition) { c.Key = "" },
			[]expectation{of(61, `key of consumer "record" from "customer.id" to none`, `write key: "customer.id"`)}},
		"rate": {func(c *sandbox.ConsumerDefinition) { c.Rate = "1/m" },
			[]expectation{of(62, `rate of consumer "record" from "10/s" to "1/m"`, `write rate: "10/s"`)}},
		"all": {func(c *sandbox.ConsumerDefinition) { c.Concurrency, c.Key, c.Rate = nil, "", "" }, []expectation{
			of(60, `from 16 to none`, "write concurrency: 16"), of(61, `from "customer.id" to none`, ""),
			of(62, `from "10/s" to none`, "")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted, _ := checked(deploy.Input{Definition: concurrent(), Catalog: catalog(t)})
			previous := &deploy.Previous{Name: accepted.Name, Version: "1.0", Definition: accepted.Definition}
			d := concurrent()
			tt.change(&d.Consumers[0])
			expect(t, deploy.Input{Definition: d, Catalog: catalog(t), Previous: previous})
			expect(t, deploy.Input{Definition: d, Catalog: catalog(t), Previous: previous, Repair: true}, tt.want...)
		})
	}
	d := concurrent() // of a plain one
	expect(t, deploy.Input{Definition: d, Catalog: catalog(t), Previous: deployed(t), Repair: true},
		of(60, `concurrency of consumer "record" from none to 16`, "leave concurrency out"),
		of(61, `key of consumer "record" from none to "customer.id"`, "leave key out"),
		of(62, `rate of consumer "record" from none to "10/s"`, "leave rate out"))
}

// C9: what a plain consumer remembered stays, and nothing reads it once the consumer has concurrency. That is said
// once, not at each deploy from then on.
func TestC9_SavedStateStaysUnread(t *testing.T) {
	t.Parallel()
	previous := deployed(t)
	previous.Stateful = []eventlog.Handler{"poll", "record"}
	expect(t, deploy.Input{Definition: concurrent(), Catalog: catalog(t), Previous: previous},
		expectation{sandbox.SeverityWarning, deploy.CodeDrops, 60, `"record" has saved a state, which stays and is not read`,
			"without concurrency"})
	accepted, _ := checked(deploy.Input{Definition: concurrent(), Catalog: catalog(t), Previous: previous})
	previous.Definition = accepted.Definition
	expect(t, deploy.Input{Definition: concurrent(), Catalog: catalog(t), Previous: previous})
}

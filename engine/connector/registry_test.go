package connector_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
)

func TestRegistryRefuses(t *testing.T) {
	op := connector.Operation{Name: "do", Kind: connector.Get}
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*fake{
		"empty name":      {name: ""},
		"dash":            {name: "a-b"},
		"pawl":            {name: "pawl", operations: []connector.Operation{op}},
		"operation name":  {name: "a", operations: []connector.Operation{{Name: "x.y", Kind: connector.Get}}},
		"operation twice": {name: "a", operations: []connector.Operation{op, op}},
		"kind":            {name: "a", operations: []connector.Operation{{Name: "do", Kind: "reconcile"}}},
		"read that settles": {name: "a", operations: []connector.Operation{{Name: "do", Kind: connector.List,
			Reconciles: true}}},
		"broken schema": {name: "a", operations: []connector.Operation{{Name: "do", Kind: connector.Get,
			Schema: json.RawMessage(`{"type":7}`)}}},
		"schema reads files": {name: "a", operations: []connector.Operation{{Name: "do", Kind: connector.Get,
			Schema: json.RawMessage(`{"$ref":"file://` + secret + `"}`)}}},
	} {
		if _, err := connector.NewRegistry(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, name := range connector.ReservedNames() {
		if _, err := connector.NewRegistry(&fake{name: name}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := connector.NewRegistry(shop(), shop()); err == nil {
		t.Error("a taken name was accepted")
	}
}

func TestRegistryReplacesAndRemoves(t *testing.T) {
	r := registry(t, shop(), &fake{name: "mail",
		operations: []connector.Operation{{Name: "send", Kind: connector.Mutate}}})
	if got := r.Names(); !slices.Equal(got, []string{"mail", "shop"}) {
		t.Errorf("names = %v", got)
	}
	changed := shop()
	changed.operations = changed.operations[:1]
	if err := r.Replace(changed); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Operation("shop", "buy"); ok {
		t.Error("the replaced connector's operation is still there")
	}
	r.Remove("mail")
	if _, ok := r.Operation("mail", "send"); ok {
		t.Error("the removed connector is still there")
	}
}

func TestSchemaFollowsItsOperation(t *testing.T) {
	s := shop()
	r := registry(t, s)
	first := r.Perform(t.Context(), call("buy", `{"n":"x"}`))
	wantFailure(t, first.Failure, "logic", "call.params")
	s.operations[1].Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"boolean"}}}`)
	second := r.Perform(t.Context(), call("buy", `{"n":"x"}`))
	if !strings.Contains(second.Failure.Message, "want boolean") {
		t.Errorf("failure = %v, want the new schema's", second.Failure)
	}
}

func TestSimilar(t *testing.T) {
	r := registry(t, shop(), &fake{name: "mail",
		operations: []connector.Operation{{Name: "send", Kind: connector.Mutate},
			{Name: "find", Kind: connector.List}}})
	for _, c := range []struct {
		name string
		want []string
	}{
		{"shp", []string{"shop"}},
		{"shop.bye", []string{"shop.buy"}},
		{"Mail.send", []string{"mail.send", "mail.find"}},
		{"gmail.find", []string{"mail.find", "shop.find"}},
		{"entirely.different", nil},
		{"warehouse", nil},
	} {
		if got := r.Similar(c.name); !slices.Equal(got, c.want) {
			t.Errorf("Similar(%q) = %v, want %v", c.name, got, c.want)
		}
	}
}

package deploy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// addresses is a connector that names what is certain of an address.
type addresses struct{ tool }

func (addresses) Judge(_ string, params *connector.Partial) []connector.Violation {
	for _, m := range params.Members {
		text := m.Value.Prefix
		if json.Unmarshal(m.Value.Value, &text) == nil {
			text += "|"
		}
		if text != "" {
			return []connector.Violation{{Where: []string{m.Name}, Code: "judged", Message: text, Fix: "f"}}
		}
	}
	return nil
}

// judging knows the connector shop, which judges the parameters of its operation find.
func judging(t *testing.T) *connector.Registry {
	t.Helper()
	registry, err := connector.NewRegistry(addresses{tool{"shop", []connector.Operation{
		{Name: "find", Kind: connector.Get, Schema: json.RawMessage(`{"type": "object"}`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// TestConnectorsJudgeWhatIsCertain: a connector is shown the text of a parameter, or how one begins that is put
// together, and what it says of it is a warning at the parameter's place.
func TestConnectorsJudgeWhatIsCertain(t *testing.T) {
	t.Parallel()
	registry := judging(t)
	executor := vm.NewExecutor(vm.Config{})
	defer executor.Close()
	for expression, want := range map[string]string{
		`"http://a/b"`:                    "http://a/b|",
		`"http://a/" + id`:                "http://a/",
		`"http://a/" + id + "/" + id`:     "http://a/",
		"`http://a/${id}`":                "http://a/",
		"`http://a/` + id":                "http://a/",
		`base + id`:                       "http://base/",
		`id + "http://a/"`:                "",
		"`${id}/x`":                       "",
		`id`:                              "",
		`1 + id`:                          "",
		`"http://a/" - id`:                "",
		`id ? "http://a/" : "http://b/"`:  "",
		`other + id`:                      "",
		`String.raw` + "`http://a/${id}`": "",
	} {
		code := `export default Pawl.workflow({ name: "w", topics: { t: {} }, consumers: { c: Pawl.consumer({ subscribe: ["t"],
  async prepare(ctx, state) { const id = state.id; const base = "http://base/"; let other = "http://other/"; other = "x";

    await ctx.shop.find({ url: ` + expression + ` }); return { reservations: [] }; },
}) } });`
		definition, problems, err := executor.Describe(t.Context(), sandbox.Source{Filename: "w.ts", Code: code})
		if err != nil {
			t.Fatal(err)
		}
		_, problems = checked(deploy.Input{Definition: definition, Found: problems,
			Catalog: deploy.CatalogOf(registry)})
		got := ""
		for _, p := range problems {
			if p.Code == "judged" {
				got = p.Message
				if p.Severity != sandbox.SeverityWarning || p.Line != 4 {
					t.Errorf("%s: %+v", expression, p)
				}
			}
		}
		if got != want {
			t.Errorf("%s: %q is certain, not %q: %+v", expression, got, want, problems)
		}
	}
}

// WrittenSecrets are the texts of the parameter secret.
func (addresses) WrittenSecrets(params *connector.Partial) []connector.WrittenSecret {
	var list []connector.WrittenSecret
	for _, m := range params.Members {
		name := ""
		if m.Name == "secret" && json.Unmarshal(m.Value.Value, &name) == nil {
			list = append(list, connector.WrittenSecret{Name: name, Where: []string{"secret"}})
		}
	}
	return list
}

// TestSecretsOfCallsNeedTheirGrants: a configured secret that a call carries, and that the workflow is not granted, is
// named with the grant when the script is checked.
func TestSecretsOfCallsNeedTheirGrants(t *testing.T) {
	t.Parallel()
	registry := judging(t)
	executor := vm.NewExecutor(vm.Config{})
	defer executor.Close()
	code := `export default Pawl.workflow({ name: "w", topics: { t: {} }, consumers: { c: Pawl.consumer({ subscribe: ["t"],
  async prepare(ctx) { await ctx.shop.find({ secret: "KEY" }); await ctx.shop.find({ secret: "OPEN" });
    await ctx.shop.find({ secret: "NONE" }); return { reservations: [] }; } }) } });`
	definition, found, err := executor.Describe(t.Context(), sandbox.Source{Filename: "w.ts", Code: code})
	if err != nil {
		t.Fatal(err)
	}
	_, problems := checked(deploy.Input{Definition: definition, Found: found, Catalog: deploy.CatalogOf(registry),
		Secrets: []string{"KEY", "OPEN"}, Grants: map[string]eventlog.Grant{"secret.OPEN": eventlog.GrantAllow}})
	var named []string
	for _, p := range problems {
		if p.Code == deploy.CodeSecretGrant {
			named = append(named, fmt.Sprint(p.Line, " ", p.Message))
		}
	}
	if len(named) != 1 || !strings.HasPrefix(named[0], "2 shop.find carries the secret KEY, ") {
		t.Errorf("%v of %+v", named, problems)
	}
}

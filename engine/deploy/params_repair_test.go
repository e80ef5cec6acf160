package deploy_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// A tool has changed what it takes, and the call fails for that: the repair that writes what the tool
// takes now is not held against what it took when the workflow was deployed. While the tool is away
// it is not known what it takes.
func TestARepairIsHeldAgainstWhatTheToolTakesNow(t *testing.T) {
	t.Parallel()
	executor := vm.NewExecutor(vm.Config{})
	defer executor.Close()
	check := func(argument string, catalog deploy.Catalog, previous *deploy.Previous) (deploy.Accepted,
		[]sandbox.Problem) {
		definition, problems, err := executor.Describe(t.Context(), sandbox.Source{Filename: "w.ts", Code: `export default Keep.workflow({ name: "w", topics: { t: {} },
  producers: { async p(ctx, state) { await ctx.shop.orders(` + argument + `) } } })`})
		if err != nil {
			t.Fatal(err)
		}
		return checked(deploy.Input{Definition: definition, Found: problems, Catalog: catalog, Previous: previous,
			Repair: previous != nil})
	}
	taking := func(name string) deploy.Catalog {
		registry, err := connector.NewRegistry(tool{"shop",
			[]connector.Operation{{Name: "orders", Kind: connector.List, Timeout: time.Second,
				Schema: json.RawMessage(`{"required":["` + name + `"],"additionalProperties":false,"properties":{"` + name +
					`":{"type":"string"}}}`)}}})
		if err != nil {
			t.Fatal(err)
		}
		return deploy.CatalogOf(registry)
	}
	first, problems := check(`{ customer: "c" }`, taking("customer"), nil)
	if sandbox.HasErrors(problems) {
		t.Fatalf("%+v", problems)
	}
	previous := &deploy.Previous{Name: first.Name, Version: "1.0", Definition: first.Definition}
	for name, c := range map[string]struct {
		argument string
		catalog  deploy.Catalog
		named    bool
	}{
		"what it takes now":           {`{ client: "c" }`, taking("client"), false},
		"what it took":                {`{ customer: "c" }`, taking("client"), true},
		"anything, while it is away":  {`{ client: "c" }`, nil, false},
		"what it has taken all along": {`{ customer: "c" }`, taking("customer"), false},
	} {
		_, problems := check(c.argument, c.catalog, previous)
		named := slices.ContainsFunc(problems, func(p sandbox.Problem) bool { return p.Code == connector.CodeParams })
		if named != c.named || sandbox.HasErrors(problems) {
			t.Errorf("%s: named %t, want %t: %+v", name, named, c.named, problems)
		}
	}
}

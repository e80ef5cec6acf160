package deploy_test

import (
	"testing"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// A script that reads a setting which is not configured is refused at the place; without an engine it is a warning.
func TestVarsThatAreNotConfigured(t *testing.T) {
	t.Parallel()
	scripts := vm.NewExecutor(vm.Config{})
	t.Cleanup(func() { _ = scripts.Close() })
	definition, found, err := scripts.Describe(t.Context(), sandbox.Source{Filename: "inbox.ts", Code: `
export default Pawl.workflow({
  name: "inbox",
  topics: { a: {} },
  producers: {
    async poll(ctx) {
      ctx.log(ctx.vars.baseUrl, ctx.vars.baseUri, ctx.vars.region);
    },
  },
});`})
	if err != nil || len(found) > 0 {
		t.Fatal(err, found)
	}
	for severity, unknown := range map[string]string{sandbox.SeverityError: "",
		sandbox.SeverityWarning: sandbox.SeverityWarning} {
		accepted, problems := checked(deploy.Input{Definition: definition, Catalog: catalog(t),
			Vars: []string{"baseUrl"}, UnknownConnector: unknown})
		if len(accepted.Definition.Operations) > 0 || len(problems) < 2 {
			t.Fatalf("%+v, %+v", accepted, problems)
		}
		for i, want := range []sandbox.Problem{
			{Severity: severity, Code: "vars.unknown", Line: 7, Column: 33,
				Message: "ctx.vars.baseUri is read, and the configuration has no such var",
				Fix:     "did you mean ctx.vars.baseUrl? Otherwise: configure it: vars: { baseUri: … }"},
			{Severity: severity, Code: "vars.unknown", Line: 7, Column: 51,
				Message: "ctx.vars.region is read, and the configuration has no such var",
				Fix:     "configure it: vars: { region: … }"},
		} {
			problems[i].ByHand = ""
			if problems[i] != want {
				t.Errorf("%+v\nwant %+v", problems[i], want)
			}
		}
	}
}

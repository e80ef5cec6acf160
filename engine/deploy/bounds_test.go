package deploy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/sandbox"
)

// TestCheck_HandlersAndTopicsAreBounded: each handler can have a state, and memory and checkpoint hold all of them.
func TestCheck_HandlersAndTopicsAreBounded(t *testing.T) {
	t.Parallel()
	many := func(producers, consumers, topics int) deploy.Input {
		d := sandbox.Definition{Name: "many"}
		for i := range topics {
			d.Topics = append(d.Topics, fmt.Sprintf("t%d", i))
		}
		for i := range producers {
			d.Producers = append(d.Producers, sandbox.ProducerDefinition{Name: fmt.Sprintf("p%d", i), Bare: true})
		}
		for i := range consumers {
			d.Consumers = append(d.Consumers, sandbox.ConsumerDefinition{Name: fmt.Sprintf("c%d", i),
				Subscribe: []string{fmt.Sprintf("t%d", i)}})
		}
		return deploy.Input{Definition: d}
	}
	errorsOf := func(in deploy.Input) (found []string) {
		_, problems := checked(in)
		for _, p := range problems {
			if p.Severity == sandbox.SeverityError {
				found = append(found, p.Code+": "+p.Message+"; "+p.Fix)
			}
		}
		return found
	}
	if found := errorsOf(many(40, 60, 1000)); len(found) > 0 {
		t.Errorf("as many as there may be: %q", found)
	}
	for name, c := range map[string]struct {
		in   deploy.Input
		want []string
	}{
		"handlers":   {many(41, 60, 60), []string{deploy.CodeHandlers, "101 handlers", "100", "policies.script.handlers"}},
		"topics":     {many(1, 1, 1001), []string{deploy.CodeTopics, "1001 topics", "1000", "policies.script.topics"}},
		"far beyond": {many(1, 20_000, 20_000), []string{deploy.CodeHandlers, "20001 handlers"}},
	} {
		found := strings.Join(errorsOf(c.in), "\n")
		for _, want := range c.want {
			if !strings.Contains(found, want) {
				t.Errorf("%s: %.300q lacks %q", name, found, want)
			}
		}
	}
	configured := many(2, 3, 3)
	configured.Handlers, configured.Topics = 4, 2
	if found := errorsOf(configured); len(found) != 2 {
		t.Errorf("configured limits: %q", found)
	}
}

// TestCheck_F9_ARepairOfManyHandlers: a workflow that was deployed before there was a limit can be repaired.
func TestCheck_F9_ARepairOfManyHandlers(t *testing.T) {
	t.Parallel()
	in := deploy.Input{Definition: workflow(), Catalog: catalog(t)}
	accepted, _ := checked(in)
	in.Repair, in.Handlers, in.Topics = true, 1, 1
	in.Previous = &deploy.Previous{Name: "invoices", Version: "1.0", Definition: accepted.Definition}
	if _, problems := checked(in); sandbox.HasErrors(problems) {
		t.Errorf("%+v", problems)
	}
}

// TestCheck_ProblemsAreBounded: as many as a person or a command can read, and how many more there are.
func TestCheck_ProblemsAreBounded(t *testing.T) {
	t.Parallel()
	d := workflow()
	for i := range 500 {
		d.Topics = append(d.Topics, fmt.Sprintf("no good %d", i))
	}
	_, problems := checked(deploy.Input{Definition: d, Catalog: catalog(t)})
	if said := fmt.Sprint(problems); !sandbox.HasErrors(problems) || len(problems) != 101 ||
		!strings.Contains(said, "400 more problems are not listed") {
		t.Errorf("%d problems: %s", len(problems), said)
	}
	// What reading the script came upon says itself how many more there were.
	found := make([]sandbox.Problem, 100)
	for i := range found {
		found[i] = sandbox.NewProblem("script.threw", sandbox.Place{Line: i + 1}, "it threw", "")
	}
	found = append(found, sandbox.NewWarning("script.problems", sandbox.Place{}, "7 more problems are not listed", ""))
	_, problems = checked(deploy.Input{Definition: d, Found: found, Catalog: catalog(t)})
	if len(problems) != 102 {
		t.Errorf("%d problems", len(problems))
	}
	said := fmt.Sprint(problems)
	for _, want := range []string{"7 more problems", "500 more problems"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says that there are %s", want)
		}
	}
}

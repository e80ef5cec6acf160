package console

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	// workflowView is the page of a workflow: what came in beside what went out.
	workflowView struct {
		header
		Chart     chartView
		Schedules []schedule
		Sources   []source
		Inputs    readmodel.Page[readmodel.Input]
		Outputs   readmodel.Page[readmodel.Mutation]
		Query     url.Values
	}
	// header is what each page of a workflow begins with.
	header struct {
		Workflow readmodel.Workflow
		Why      explain.Why
		Tab      string
	}
	// source counts the shown inputs of one source by what became of them.
	source struct {
		Source, Type           string
		Pending, Done, Skipped int
		Inputs                 []readmodel.Input
	}
)

// shownAtOnce is how many rows a list of a page has.
const shownAtOnce = 50

// workflow shows inputs and outputs, the newest first.
func (c *Console) workflow(v *visit) (string, page, error) {
	view := workflowView{Query: v.r.URL.Query()}
	var err error
	if view.header, err = v.header("overview"); err != nil {
		return "", page{}, err
	}
	name := view.Workflow.Name
	if view.Schedules, err = v.schedules(name); err != nil {
		return "", page{}, err
	}
	list := func(prefix string) map[string]any {
		fields := map[string]any{"workflow": name, "order": "desc", "limit": shownAtOnce}
		for _, field := range []string{"status", "cursor", "q"} {
			if value := view.Query.Get(prefix + field); value != "" {
				fields[field] = value
			}
		}
		return fields
	}
	if view.Inputs, err = ask[readmodel.Page[readmodel.Input]](v, "listWorkflowInputs", list("in_")); err != nil {
		return "", page{}, err
	}
	if view.Outputs, err = ask[readmodel.Page[readmodel.Mutation]](v, "listWorkflowMutations", list("out_")); err != nil {
		return "", page{}, err
	}
	view.Sources = bySource(view.Inputs.Items)
	view.Chart = drawn(c.activity.chart([]eventlog.WorkflowName{name}))
	return "workflow", page{Title: string(name), Nav: "home", Body: view}, nil
}

// header asks for what each page of the workflow in the path begins with.
func (v *visit) header(tab string) (header, error) {
	of := map[string]any{"workflow": v.r.PathValue("workflow")}
	w, err := ask[readmodel.Workflow](v, "getWorkflow", of)
	if err != nil {
		return header{}, err
	}
	why, err := ask[explain.Why](v, "explainWorkflow", of)
	return header{Workflow: w, Why: why, Tab: tab}, err
}

// bySource groups inputs by where they came from, in the order of the names.
func bySource(inputs []readmodel.Input) []source {
	var groups []source
	for _, in := range inputs {
		i := slices.IndexFunc(groups, func(g source) bool { return g.Source == in.Source && g.Type == in.Type })
		if i < 0 {
			i = len(groups)
			groups = append(groups, source{Source: in.Source, Type: in.Type})
		}
		g := &groups[i]
		g.Inputs = append(g.Inputs, in)
		switch in.Status {
		case projections.InputPending:
			g.Pending++
		case projections.InputDone:
			g.Done++
		case projections.InputSkipped:
			g.Skipped++
		}
	}
	slices.SortFunc(groups, func(a, b source) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Type, b.Type))
	})
	return groups
}

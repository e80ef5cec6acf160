package console

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	// workflowView is the page of a workflow: what came in beside what went out.
	workflowView struct {
		header
		Chart   chartView
		Sources []sourceItem
		Inputs  readmodel.Page[readmodel.Input]
		Outputs readmodel.Page[readmodel.Mutation]
		Query   url.Values
	}
	// header is the head of each page of a workflow.
	header struct {
		Workflow readmodel.Workflow
		Why      explain.Why
		Tab      string
		// Past says that the page shows an earlier state: it shows nothing of the present and offers no action.
		Past bool
		// Schedules are its producers, with the time at which each runs next.
		Schedules []schedule
	}
	// sourceItem is a source with some of its inputs. Arrived counts its inputs of the last day.
	sourceItem struct {
		Source, Type string
		Arrived      int
		Inputs       []readmodel.Input
	}
)

const (
	// shownAtOnce is how many rows a list of a page has.
	shownAtOnce = 50
	// lookedAtOnce bounds how many items are looked at for a page: items that fit may be rare, and the page must not wait
	// for them. The page then says how far it has looked, and goes on.
	lookedAtOnce = 5_000
)

// workflow shows inputs and outputs, the newest first.
func (c *Console) workflow(v *visit) (string, page, error) {
	view := workflowView{Query: v.r.URL.Query()}
	var err error
	if view.header, err = v.header("overview"); err != nil {
		return "", page{}, err
	}
	name := view.Workflow.Name
	list := func(prefix string) map[string]any {
		fields := map[string]any{"workflow": name, "order": "desc", "limit": shownAtOnce,
			"scan": lookedAtOnce}
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
	view.Sources = bySource(view.Inputs.Items, c.activity.arrived(name))
	view.Chart = drawn(c.activity.chart([]eventlog.WorkflowName{name}))
	return "workflow", page{Title: string(name), Nav: "home", Body: view}, nil
}

// header makes the head for a page of the workflow in the path.
func (v *visit) header(tab string) (header, error) {
	of := map[string]any{"workflow": v.r.PathValue("workflow")}
	w, err := ask[readmodel.Workflow](v, "getWorkflow", of)
	if err != nil {
		return header{}, err
	}
	why, err := ask[explain.Why](v, "explainWorkflow", of)
	if err != nil {
		return header{}, err
	}
	schedules, err := v.schedules(w.Name)
	return header{Workflow: w, Why: why, Tab: tab, Schedules: schedules}, err
}

// Head is the header itself, for the part of the pages that shows it.
func (h header) Head() header { return h }

// Word says for what the workflow needs a person, as the home page does.
func (h header) Word() string { return needOf(h.Why).Word }

// Held reports whether the system holds the workflow for a reason that a resume ends. An approval and an uncertain
// change are ended by other actions.
func (h header) Held() bool {
	b := h.Workflow.Blocked
	return b != nil && b.Reason != eventlog.BlockApproval && b.Reason != eventlog.BlockIndeterminate
}

// bySource groups inputs by their source, in the order of the names.
func bySource(inputs []readmodel.Input, arrived map[origin]int) []sourceItem {
	var groups []sourceItem
	for _, in := range inputs {
		i := slices.IndexFunc(groups, func(g sourceItem) bool { return g.Source == in.Source && g.Type == in.Type })
		if i < 0 {
			i = len(groups)
			groups = append(groups, sourceItem{Source: in.Source, Type: in.Type, Arrived: arrived[origin{in.Source, in.Type}]})
		}
		groups[i].Inputs = append(groups[i].Inputs, in)
	}
	slices.SortFunc(groups, func(a, b sourceItem) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Type, b.Type))
	})
	return groups
}

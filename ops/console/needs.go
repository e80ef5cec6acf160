package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	needsView struct {
		Uncertain readmodel.Page[readmodel.Mutation]
		// Approvals are the oldest requests that wait for approval, by workflow; MoreApprovals says that there are others.
		Approvals     []approvals
		MoreApprovals bool
		// Aside are the discarded and the held events by workflow, state and error.
		Aside []asideGroup
		// Repairs are the workflows that need a repaired script.
		Repairs []repair
		// Others need a person for another reason.
		Others []explain.Why
		Whys   map[eventlog.WorkflowName]explain.Why
	}
	// approvals are requests of one workflow, the oldest first.
	approvals struct {
		Workflow eventlog.WorkflowName
		Items    []readmodel.Mutation
	}
	asideGroup struct {
		Workflow     eventlog.WorkflowName
		Held         eventlog.HeldReason
		Class        eventlog.Class
		Code, Sample string
		Since        eventlog.Instant
		Jobs         []readmodel.Job
		More         bool
	}
	repair struct {
		Workflow readmodel.Workflow
		Why      explain.Why
		Run      *readmodel.Run
	}
)

// needs shows everything that waits for a person.
func (c *Console) needs(v *visit) (string, page, error) {
	view := needsView{Whys: map[eventlog.WorkflowName]explain.Why{}}
	whys, err := ask[readmodel.Page[explain.Why]](v, "explainAll", nil)
	if err != nil {
		return "", page{}, err
	}
	workflows, err := wholeList[readmodel.Workflow](v, "listWorkflows", nil)
	if err != nil {
		return "", page{}, err
	}
	if view.Uncertain, err = v.heldMutations("indeterminate"); err != nil {
		return "", page{}, err
	}
	asked, err := v.heldMutations("approval")
	if err != nil {
		return "", page{}, err
	}
	view.Approvals, view.MoreApprovals = byWorkflow(asked.Items), asked.Next != nil
	shown := map[eventlog.WorkflowName]bool{}
	for _, m := range slices.Concat(view.Uncertain.Items, asked.Items) {
		shown[m.Workflow] = true
	}
	for _, why := range whys.Items {
		view.Whys[why.Workflow] = why
	}
	for _, w := range workflows {
		why := view.Whys[w.Name]
		if w.Status == "archived" {
			continue
		}
		if w.Repair != nil {
			r, err := v.repairOf(w, why)
			if err != nil {
				return "", page{}, err
			}
			view.Repairs, shown[w.Name] = append(view.Repairs, r), true
		}
		if w.Counts.Discarded > 0 {
			shown[w.Name] = true
			if err := v.aside(&view, w.Name, map[string]any{"state": "discarded"}); err != nil {
				return "", page{}, err
			}
		}
		if w.Counts.Held > 0 {
			for _, held := range []eventlog.HeldReason{eventlog.HeldRepair, eventlog.HeldPerson} {
				if err := v.aside(&view, w.Name, map[string]any{"held": held}); err != nil {
					return "", page{}, err
				}
			}
		}
		if why.NeedsPerson && !shown[w.Name] {
			view.Others = append(view.Others, why)
		}
	}
	return "needs", page{Title: "Needs you", Nav: "needs", Body: view}, nil
}

// badge counts the workflows that need a person, for the navigation.
func (c *Console) badge(w http.ResponseWriter, r *http.Request) {
	v := c.admit(w, r)
	if v == nil {
		return
	}
	whys, err := ask[readmodel.Page[explain.Why]](v, "explainAll", nil)
	if err != nil {
		rpc.WriteProblem(w, problemOf(err))
		return
	}
	n := 0
	for _, why := range whys.Items {
		if why.NeedsPerson {
			n++
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if n > 0 {
		_, _ = fmt.Fprint(w, n) // a reader that is gone needs no answer
	}
}

func (v *visit) heldMutations(held string) (readmodel.Page[readmodel.Mutation], error) {
	return ask[readmodel.Page[readmodel.Mutation]](v, "listMutations", map[string]any{"held": held, "order": "asc",
		"limit": shownAtOnce})
}

// byWorkflow groups requests by workflow: the workflow with the oldest request comes first, and in it the oldest one.
func byWorkflow(requests []readmodel.Mutation) []approvals {
	slices.SortStableFunc(requests, func(a, b readmodel.Mutation) int { return cmp.Compare(a.RequestedAt, b.RequestedAt) })
	var groups []approvals
	for _, m := range requests {
		i := slices.IndexFunc(groups, func(g approvals) bool { return g.Workflow == m.Workflow })
		if i < 0 {
			i = len(groups)
			groups = append(groups, approvals{Workflow: m.Workflow})
		}
		groups[i].Items = append(groups[i].Items, m)
	}
	return groups
}

// repairOf finds the run whose failure asks for the repair: the newest that failed by its script.
func (v *visit) repairOf(w readmodel.Workflow, why explain.Why) (repair, error) {
	runs, err := ask[readmodel.Page[readmodel.Run]](v, "listWorkflowRuns", map[string]any{"workflow": w.Name,
		"status": "failed:logic", "order": "desc", "limit": 1, "scan": lookedAtOnce})
	r := repair{Workflow: w, Why: why}
	if len(runs.Items) > 0 {
		r.Run = &runs.Items[0]
	}
	return r, err
}

// aside adds the workflow's discarded and held events, grouped by their error: the newest 500 of them.
func (v *visit) aside(view *needsView, w eventlog.WorkflowName, filter map[string]any) error {
	filter["workflow"], filter["order"], filter["limit"] = w, "desc", maxManyAtOnce
	jobs, err := ask[readmodel.Page[readmodel.Job]](v, "listWorkflowJobs", filter)
	if err != nil {
		return err
	}
	first := len(view.Aside)
	for _, j := range jobs.Items {
		g := asideGroup{Workflow: w, Since: cmp.Or(j.FinalizedAt, j.PublishedAt), More: jobs.Next != nil}
		if j.Held != nil {
			g.Held, g.Since = j.Held.Reason, j.Held.Since
		}
		if j.Error != nil {
			g.Class, g.Code, g.Sample = j.Error.Class, j.Error.Code, j.Error.Message
		}
		at := slices.IndexFunc(view.Aside[first:], func(o asideGroup) bool {
			return o.Class == g.Class && o.Code == g.Code && o.Held == g.Held
		})
		if at < 0 {
			at = len(view.Aside) - first
			view.Aside = append(view.Aside, g)
		}
		group := &view.Aside[first+at]
		group.Jobs = append(group.Jobs, j)
		group.Since = min(group.Since, g.Since)
	}
	return nil
}

// Filter is the part of a list's address that shows the group.
func (g asideGroup) Filter() string {
	q := url.Values{"state": {"discarded"}}
	if g.Held != "" {
		q = url.Values{"held": {string(g.Held)}}
	}
	if g.Code != "" {
		q.Set("q", g.Code)
		q.Set("class", string(g.Class)) // another class may have the same code
		q.Set("code", g.Code)
	}
	return "?" + q.Encode()
}

package console

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	// listView is a list of a workflow with its filters.
	listView struct {
		header
		Kind    string
		Filters []filter
		Query   url.Values
		found

		Runs     []readmodel.Run
		Events   []readmodel.Event
		Jobs     []readmodel.Job
		Sessions []readmodel.Session
	}
	// found says where a list goes on.
	found struct {
		Next *string
		// Reached is the time of the last item that was looked at, where the search stopped before the page was full; else
		// 0. Next goes on from there.
		Reached eventlog.Instant
	}
	// filter is a field that narrows a list. Where it has Values, it takes one of them.
	filter struct {
		Name, Label, Value string
		Values             []string
	}
)

// listKinds are the kinds of lists with the operation that answers each, and its filters.
var listKinds = map[string]struct {
	operation string
	filters   []string
}{
	"runs":     {"listWorkflowRuns", []string{"status", "handler", "class"}},
	"events":   {"listWorkflowEvents", []string{"topic", "status", "state", "held"}},
	"jobs":     {"listWorkflowJobs", []string{"topic", "state", "held"}},
	"sessions": {"listWorkflowSessions", []string{"status"}},
}

// list shows one page of a list, the newest first unless it is asked for otherwise.
func (c *Console) list(v *visit) (string, page, error) {
	kind := v.r.PathValue("list")
	of, ok := listKinds[kind]
	if !ok {
		return "", page{}, rpc.Problemf(http.StatusNotFound, "page.unknown", "There is no such page.")
	}
	head, err := v.header(kind)
	if err != nil {
		return "", page{}, err
	}
	view := listView{header: head, Kind: kind, Query: v.r.URL.Query()}
	operation := c.cfg.Operations.Lookup(of.operation)
	for _, name := range of.filters {
		view.Filters = append(view.Filters, filter{Name: name, Label: name, Value: view.Query.Get(name),
			Values: operation.Request.Possible(name)})
	}
	fields := given(view.Query, slices.Concat(of.filters, []string{"q", "cursor"})...)
	if err := v.between(fields, view.Query); err != nil {
		return "", page{}, err
	}
	fields["workflow"], fields["limit"], fields["order"] = head.Workflow.Name, shownAtOnce, "desc"
	switch fields["scan"] = lookedAtOnce; kind {
	case "runs":
		fields["scan"] = lookedAtOnce / 10 // the titles of their events are looked up
	case "jobs":
		fields["scan"] = lookedAtOnce / 4 // their runs are looked up
	}
	if view.Query.Get("order") == "asc" {
		fields["order"] = "asc"
	}
	switch kind {
	case "runs":
		view.Runs, view.found, err = listed[readmodel.Run](v, of.operation, fields)
	case "events":
		view.Events, view.found, err = listed[readmodel.Event](v, of.operation, fields)
	case "jobs":
		view.Jobs, view.found, err = listed[readmodel.Job](v, of.operation, fields)
	case "sessions":
		view.Sessions, view.found, err = listed[readmodel.Session](v, of.operation, fields)
	}
	return "list", page{Title: string(head.Workflow.Name) + " " + kind, Nav: "home", Body: view}, err
}

func listed[Item any](v *visit, id string, fields map[string]any) ([]Item, found, error) {
	page, err := ask[readmodel.Page[Item]](v, id, fields)
	return page.Items, found{page.Next, page.Reached}, err
}

// Skippable reports whether one of the jobs that are shown may be skipped. Discarded ones are only where they are asked
// for (C11).
func (l listView) Skippable() bool {
	narrowed := l.Query.Get("state") != "" || l.Query.Get("status") != ""
	return slices.ContainsFunc(l.Jobs, func(j readmodel.Job) bool {
		return decide.ActionSkip.Changes(j.State, j.Held.For()) && decide.ActionSkip.Meant(narrowed, j.State, j.Held.For())
	})
}

// Continued reports whether the page is not the first of its list.
func (l listView) Continued() bool { return l.Query.Get("cursor") != "" }

// Empty reports whether the list shows nothing.
func (l listView) Empty() bool { return len(l.Runs)+len(l.Events)+len(l.Jobs)+len(l.Sessions) == 0 }

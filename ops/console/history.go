package console

import (
	"strconv"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/replay"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	scriptView struct {
		header
		Shown    readmodel.Script
		Versions []eventlog.Version
		Against  eventlog.Version
		Diff     []diffLine
		Lines    []string
	}
	diffLine struct{ Kind, Text string }

	// stateView is the state of a workflow, now or at a revision.
	stateView struct {
		header
		replay.Glimpse
		Grants  []grantRow
		Present bool
	}
	grantRow struct {
		Capability, Kind string
		Grant            eventlog.Grant
	}
)

// script shows a version of the script, or its differences from another version.
func (c *Console) script(v *visit) (string, page, error) {
	head, err := v.header("script")
	if err != nil {
		return "", page{}, err
	}
	view := scriptView{header: head, Against: eventlog.Version(v.r.URL.Query().Get("against"))}
	name := head.Workflow.Name
	source := func(version string) (readmodel.Script, error) {
		fields := map[string]any{"workflow": name}
		if version != "" {
			fields["version"] = version
		}
		return ask[readmodel.Script](v, "getSource", fields)
	}
	if view.Shown, err = source(v.r.URL.Query().Get("version")); err != nil {
		return "", page{}, err
	}
	versions, err := ask[readmodel.Page[readmodel.Version]](v, "listWorkflowVersions", map[string]any{"workflow": name,
		"order": "desc", "limit": maxVersions})
	if err != nil {
		return "", page{}, err
	}
	for _, of := range versions.Items {
		view.Versions = append(view.Versions, of.Version)
	}
	if view.Against != "" {
		before, err := source(string(view.Against))
		if err != nil {
			return "", page{}, err
		}
		view.Diff = diff(before.Source, view.Shown.Source)
	}
	view.Lines = strings.Split(strings.TrimSuffix(plain(view.Shown.Source), "\n"), "\n")
	return "script", page{Title: string(name) + " script", Nav: "home", Body: view}, nil
}

// maxVersions bounds the versions that a page offers: the newest.
const maxVersions = 50

// diff is the differences between two sources, with the lines around them.
func diff(before, after string) []diffLine {
	linesOf := func(source string) []string { return difflib.SplitLines(strings.TrimSuffix(source, "\n")) }
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: linesOf(before), B: linesOf(after), Context: 4})
	if err != nil {
		return []diffLine{{"", "The versions cannot be compared: " + err.Error()}}
	}
	var lines []diffLine
	for l := range strings.Lines(text) {
		l = plain(strings.TrimRight(l, "\n"))
		switch { // the sides have no names, so that no line but those of the sources begins with --- or +++
		case l == "":
		case l[0] == '+':
			lines = append(lines, diffLine{"added", l})
		case l[0] == '-':
			lines = append(lines, diffLine{"removed", l})
		case l[0] == '@':
			lines = append(lines, diffLine{"place", l})
		default:
			lines = append(lines, diffLine{"", l})
		}
	}
	return lines
}

// state shows the state of a workflow, now or at a revision, which a slider chooses.
func (c *Console) state(v *visit) (string, page, error) {
	head, err := v.header("state")
	if err != nil {
		return "", page{}, err
	}
	view := stateView{header: head, Present: true}
	view.Revision = head.Workflow.Revision
	if at := v.r.URL.Query().Get("at"); at != "" {
		n, err := strconv.ParseUint(at, 10, 64)
		if err != nil {
			return "", page{}, rpc.Malformed("revision.invalid", "A revision is a number, not %q.", clip(40, at))
		}
		view.Revision, view.Present, view.Past = n, false, true
	}
	if !view.Present {
		view.Glimpse, err = ask[replay.Glimpse](v, "glimpsePast", map[string]any{"workflow": head.Workflow.Name,
			"at": view.Revision})
	} else if view.Then, err = v.present(head.Workflow); err == nil {
		grants, err := ask[struct{ Operations []grantRow }](v, "getGrants", map[string]any{"workflow": head.Workflow.Name})
		if err != nil {
			return "", page{}, err
		}
		view.Grants = grants.Operations
	}
	return "state", page{Title: string(head.Workflow.Name) + " state", Nav: "home", Body: view}, err
}

// present is the workflow as it is now, in the form in which its past is shown.
func (v *visit) present(w readmodel.Workflow) (*replay.Then, error) {
	now := &replay.Then{Workflow: w}
	handlers, err := ask[readmodel.Page[readmodel.Handler]](v, "listWorkflowHandlers", map[string]any{"workflow": w.Name})
	if err != nil {
		return nil, err
	}
	runs, err := ask[readmodel.Page[readmodel.Run]](v, "listWorkflowRuns", map[string]any{"workflow": w.Name,
		"order": "desc", "limit": 20})
	now.Handlers, now.Runs = handlers.Items, runs.Items
	return now, err
}

// Percent is how far the fold to the revision has come, in percent.
func (s stateView) Percent() uint64 { return s.Reached * 100 / max(s.Revision, 1) }

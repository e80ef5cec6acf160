package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/pawl-run/pawl/eventlog"
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

	stateView struct {
		header
		State   pastState
		Grants  []grantRow
		At      uint64
		Present bool
	}
	// pastState is a state with its newest runs.
	pastState struct {
		readmodel.State
		Recent []readmodel.Run
	}
	grantRow struct {
		Capability, Kind string
		Grant            eventlog.Grant
	}
	logView struct {
		header
		All     bool
		Query   url.Values
		Records []transition
		Next    *string
		Tail    string
		Types   []string
	}
	// transition is a record of the log, as readLog answers it.
	transition struct {
		Partition int                   `json:"partition"`
		Seq       uint64                `json:"seq"`
		ID        string                `json:"id"`
		Workflow  eventlog.WorkflowName `json:"workflow"`
		Revision  uint64                `json:"revision"`
		Kind      string                `json:"kind"`
		At        eventlog.Instant      `json:"at"`
		Actor     eventlog.Actor        `json:"actor"`
		Cause     eventlog.Cause        `json:"cause"`
		Events    []struct {
			Type    string          `json:"type"`
			Version int             `json:"version"`
			Data    json.RawMessage `json:"data"`
		} `json:"events"`
	}
)

// script shows a version of the script, or what it has changed against another one.
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
	view.Versions = versions(head.Workflow.Version, func(version string) bool {
		_, err := source(version)
		return err == nil
	})
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

// versions finds those that there are, the newest first: a deploy raises the first number, a repair the second.
func versions(current eventlog.Version, exists func(string) bool) []eventlog.Version {
	var major, minor int
	if _, err := fmt.Sscanf(string(current), "%d.%d", &major, &minor); err != nil {
		return []eventlog.Version{current}
	}
	var found []eventlog.Version
	for ; major > 0 && len(found) < maxVersions; major-- {
		var of []eventlog.Version
		for n := 0; exists(fmt.Sprintf("%d.%d", major, n)); n++ {
			of = append([]eventlog.Version{eventlog.Version(fmt.Sprintf("%d.%d", major, n))}, of...)
		}
		found = append(found, of...)
	}
	return found
}

// diff is what has changed from one source to the other, with the lines around.
func diff(before, after string) []diffLine {
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: difflib.SplitLines(before),
		B: difflib.SplitLines(after), Context: 4})
	if err != nil {
		return []diffLine{{"", "The versions cannot be compared: " + err.Error()}}
	}
	var lines []diffLine
	for l := range strings.Lines(text) {
		l = plain(strings.TrimRight(l, "\n"))
		switch {
		case strings.HasPrefix(l, "---"), strings.HasPrefix(l, "+++"), l == "":
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

// state shows what a workflow is, or was at a revision, which a slider chooses.
func (c *Console) state(v *visit) (string, page, error) {
	head, err := v.header("state")
	if err != nil {
		return "", page{}, err
	}
	view := stateView{header: head, At: head.Workflow.Revision, Present: true}
	fields := map[string]any{"workflow": head.Workflow.Name}
	if at := v.r.URL.Query().Get("at"); at != "" {
		n, err := strconv.ParseUint(at, 10, 64)
		if err != nil {
			return "", page{}, rpc.Malformed("revision.invalid", "A revision is a number, not %q.", clip(40, at))
		}
		view.At, view.Present, fields["at"] = n, false, n
	}
	if view.State.State, err = ask[readmodel.State](v, "getState", fields); err != nil {
		return "", page{}, err
	}
	runs := view.State.Runs
	slices.SortFunc(runs, func(a, b readmodel.Run) int { return cmp.Compare(b.StartedAt, a.StartedAt) })
	view.State.Recent = runs[:min(20, len(runs))]
	if view.Present {
		grants, err := ask[struct{ Operations []grantRow }](v, "getGrants", map[string]any{"workflow": head.Workflow.Name})
		if err != nil {
			return "", page{}, err
		}
		view.Grants = grants.Operations
	}
	return "state", page{Title: string(head.Workflow.Name) + " state", Nav: "home", Body: view}, nil
}

// log shows the newest transitions of a workflow, or of all, the newest first.
func (c *Console) log(v *visit) (string, page, error) {
	view := logView{Query: v.r.URL.Query(), Tail: v.r.URL.Query().Get("tail")}
	fields := given(view.Query, "type", "from")
	nav, title := "log", "Log"
	if name := v.r.PathValue("workflow"); name != "" {
		var err error
		if view.header, err = v.header("log"); err != nil {
			return "", page{}, err
		}
		fields["workflow"], nav, title = name, "home", name+" log"
	} else {
		view.All = true
	}
	if tail, err := strconv.Atoi(view.Tail); fields["from"] == nil {
		if err != nil || tail < 1 || tail > 1000 {
			tail = shownAtOnce
		}
		fields["tail"] = tail
	} else {
		fields["limit"] = shownAtOnce
	}
	found, err := ask[readmodel.Page[transition]](v, "readLog", fields)
	if err != nil {
		var p *rpc.Problem
		if errors.As(err, &p) && p.Status == http.StatusNotFound {
			return "", page{}, p
		}
		return "", page{}, err
	}
	view.Records, view.Next = found.Items, found.Next
	if fields["tail"] != nil {
		slices.Reverse(view.Records)
		view.Next = nil
	}
	return "log", page{Title: title, Nav: nav, Body: view}, nil
}

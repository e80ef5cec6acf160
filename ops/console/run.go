package console

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/engine/runlog"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	mutationView struct {
		header
		M   readmodel.Mutation
		Run *readmodel.Run
	}
	runView struct {
		header
		Run      readmodel.Run
		Mutation *readmodel.Mutation
		Steps    []step
		// Before are the runs that this one is a retry of, the newest first.
		Before []readmodel.Run
	}
	// step is a moment in the life of a run.
	step struct {
		At          eventlog.Instant
		Kind, Text  string
		Line        int
		Call, Phase bool
		// Given is the input of the script, in the place of Text.
		Given json.RawMessage
	}
)

// run shows a run's life: its phases, its calls and what its script has logged, in the order of time.
func (c *Console) run(v *visit) (string, page, error) {
	head, err := v.header("runs")
	if err != nil {
		return "", page{}, err
	}
	view := runView{header: head}
	of := map[string]any{"workflow": head.Workflow.Name, "run": v.r.PathValue("run")}
	if view.Run, err = ask[readmodel.Run](v, "getRun", of); err != nil {
		return "", page{}, err
	}
	if view.Run.Mutation != nil {
		m, err := ask[readmodel.Mutation](v, "getMutation", map[string]any{"mutation": *view.Run.Mutation})
		if err != nil {
			return "", page{}, err
		}
		view.Mutation = &m
	}
	for earlier := view.Run.RetryOf; earlier != nil && len(view.Before) < 20; {
		run, err := ask[readmodel.Run](v, "getRun", map[string]any{"workflow": head.Workflow.Name, "run": *earlier})
		if err != nil {
			break // the run is not kept any more
		}
		view.Before = append(view.Before, run)
		earlier = run.RetryOf
	}
	of["all"] = true
	lines, err := ask[readmodel.Page[runlog.Line]](v, "getRunLogs", of)
	if err != nil {
		return "", page{}, err
	}
	view.Steps = steps(view.Run, view.Mutation, lines.Items)
	return "run", page{Title: "Run of " + string(view.Run.Handler), Nav: "home", Body: view}, nil
}

// steps lists everything that is known of a run in the order of time.
func steps(run readmodel.Run, m *readmodel.Mutation, lines []runlog.Line) []step {
	list := []step{{At: run.StartedAt, Kind: "started", Phase: true,
		Text: string(run.HandlerType) + " " + string(run.Handler)}}
	for _, l := range lines {
		s := step{At: eventlog.At(l.At), Kind: l.Level, Text: l.Text, Line: l.Line}
		s.Call = l.Level == "call"
		if l.Level == "inputs" && json.Valid([]byte(l.Text)) {
			s.Given = json.RawMessage(l.Text)
		}
		list = append(list, s)
	}
	if m != nil && m.Run == run.ID {
		call := m.Connector + "." + m.Operation
		list = append(list, step{At: m.RequestedAt, Kind: "asked for", Text: call, Phase: true})
		if m.StartedAt != 0 {
			list = append(list, step{At: m.StartedAt, Kind: "sent", Text: call, Phase: true})
		}
		if m.SettledAt != 0 {
			list = append(list, step{At: m.SettledAt, Kind: string(m.Status), Text: call, Phase: true})
		}
	}
	if run.EndedAt != 0 {
		list = append(list, step{At: run.EndedAt, Kind: string(run.Status), Text: "the run ended", Phase: true})
	}
	slices.SortStableFunc(list, func(a, b step) int { return int(a.At.Sub(b.At)) })
	return list
}

// mutation shows one call: the script's description of it, and beside that what was sent.
func (c *Console) mutation(v *visit) (string, page, error) {
	m, err := ask[readmodel.Mutation](v, "getMutation", map[string]any{"mutation": v.r.PathValue("mutation")})
	if err != nil {
		return "", page{}, err
	}
	v.r.SetPathValue("workflow", string(m.Workflow))
	head, err := v.header("overview")
	if err != nil {
		return "", page{}, err
	}
	view := mutationView{header: head, M: m}
	if run, err := ask[readmodel.Run](v, "getRun", map[string]any{"workflow": m.Workflow, "run": m.Run}); err == nil {
		view.Run = &run
	}
	return "mutation", page{Title: m.Connector + "." + m.Operation, Nav: "home", Body: view}, nil
}

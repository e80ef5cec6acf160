package console

import (
	"slices"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	inputView struct {
		header
		readmodel.Trace
		// Calls are the mutations by the run that asked for them; Rest are those of other runs.
		Calls map[eventlog.RunID]*readmodel.Mutation
		Rest  []readmodel.Mutation
	}
	eventView struct {
		header
		Event readmodel.Event
		Job   readmodel.Job
		// Causes are the inputs from which the event comes, at most the first twenty.
		Causes []readmodel.Input
	}
)

// input shows what became of an input, event by event, with the calls that were made for each.
func (c *Console) input(v *visit) (string, page, error) {
	head, err := v.header("overview")
	if err != nil {
		return "", page{}, err
	}
	trace, err := ask[readmodel.Trace](v, "traceInput", map[string]any{"workflow": head.Workflow.Name,
		"input": v.r.PathValue("input")})
	if err != nil {
		return "", page{}, err
	}
	view := inputView{header: head, Trace: trace, Calls: map[eventlog.RunID]*readmodel.Mutation{}}
	for i, m := range trace.Mutations {
		of := slices.ContainsFunc(trace.Events, func(e readmodel.TracedEvent) bool {
			return slices.ContainsFunc(e.Job.Attempts, func(a readmodel.JobAttempt) bool { return a.Run == m.Run })
		})
		if of {
			view.Calls[m.Run] = &trace.Mutations[i]
		} else {
			view.Rest = append(view.Rest, m)
		}
	}
	return "input", page{Title: clip(60, trace.Input.Title), Nav: "home", Body: view}, nil
}

func (c *Console) event(v *visit) (string, page, error) {
	head, err := v.header("events")
	if err != nil {
		return "", page{}, err
	}
	view := eventView{header: head}
	of := map[string]any{"workflow": head.Workflow.Name, "topic": v.r.PathValue("topic"),
		"messageId": v.r.PathValue("messageId")}
	if view.Event, err = ask[readmodel.Event](v, "getEvent", of); err != nil {
		return "", page{}, err
	}
	if view.Job, err = ask[readmodel.Job](v, "getJob", of); err != nil {
		return "", page{}, err
	}
	for _, id := range view.Event.CausedBy[:min(20, len(view.Event.CausedBy))] {
		in, err := ask[readmodel.Input](v, "getInput", map[string]any{"workflow": head.Workflow.Name, "input": id})
		if err != nil {
			return "", page{}, err
		}
		view.Causes = append(view.Causes, in)
	}
	return "event", page{Title: clip(60, view.Event.Title), Nav: "home", Body: view}, nil
}

package readmodel

import (
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// StateView is all that a workflow was at a revision: what the lists of the present show, under their names.
type StateView struct {
	Workflow  Workflow                  `json:"workflow"`
	Grants    map[string]eventlog.Grant `json:"grants"`
	Scripts   []Script                  `json:"scripts"`
	Handlers  []Handler                 `json:"handlers"`
	Runs      []Run                     `json:"runs"`
	Mutations []Mutation                `json:"mutations"`
	Events    []Event                   `json:"events"`
	Jobs      []Job                     `json:"jobs"`
	Inputs    []Input                   `json:"inputs"`
	Sessions  []Session                 `json:"sessions"`
}

// heldIn renders what holds the event in a state of the past.
func heldIn(s *projections.State, e *projections.TopicEvent) *HeldEvent {
	if e.Held == nil {
		return nil
	}
	run := s.Run(e.Held.Run)
	var m *projections.Mutation
	if run != nil && run.Mutation != "" {
		m = s.Mutation(run.Mutation)
	}
	return HeldView(e, run, m)
}

// StateOf renders a state that was folded without leaving anything out. Each list is sorted by name.
// Two states that hold the same give the same, wherever each of them came from.
func StateOf(s *projections.State) StateView {
	v := StateView{
		Workflow: WorkflowOf(s), Grants: map[string]eventlog.Grant{},
		Scripts: []Script{}, Handlers: []Handler{}, Runs: []Run{}, Mutations: []Mutation{},
		Events: []Event{}, Jobs: []Job{}, Inputs: []Input{}, Sessions: []Session{},
	}
	for capability, grant := range s.Grants {
		v.Grants[capability] = grant
	}
	d := s.Definition()
	title := func(ref eventlog.EventRef) string {
		if e := s.Event(ref.Topic, ref.MessageID); e != nil {
			return e.Title
		}
		return ""
	}
	for _, k := range s.Keys() {
		switch e := s.Entity(k).(type) {
		case *projections.Script:
			v.Scripts = append(v.Scripts, ScriptView(e))
		case *projections.Handler:
			v.Handlers = append(v.Handlers, HandlerView(e, &s.Workflow, d))
		case *projections.Run:
			v.Runs = append(v.Runs, RunView(s.Name, e, title))
		case *projections.Mutation:
			var of Run
			if run := s.Run(e.Run); run != nil {
				of = RunView(s.Name, run, title)
			}
			v.Mutations = append(v.Mutations, MutationView(s.Name, e, of))
		case *projections.TopicEvent:
			held := heldIn(s, e)
			v.Events = append(v.Events, EventView(e, held))
			v.Jobs = append(v.Jobs, JobView(e, d, held))
		case *projections.Input:
			v.Inputs = append(v.Inputs, InputView(e))
		case *projections.Session:
			v.Sessions = append(v.Sessions, sessionView(e))
		}
	}
	return v
}

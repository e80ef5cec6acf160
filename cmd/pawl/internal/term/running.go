package term

import "github.com/pawl-run/pawl/eventlog"

// running is what is known of a run that is active.
type running struct {
	run     eventlog.RunID
	handler eventlog.Handler
	title   string
	// event is the event of a run of a concurrent consumer; empty for other runs.
	event   eventlog.MessageID
	call    eventlog.MutationCall
	mutated bool
}

// about names in brackets what the run is for, by the script's title or by its event; empty where neither is known.
func (r *running) about() string {
	switch {
	case r.title != "":
		return " (" + OneLine(r.title, maxTitle) + ")"
	case r.event != "":
		return " (event " + OneLine(string(r.event), maxTitle) + ")"
	}
	return ""
}

// of is what is known of a run, which may be nothing.
func (p *Progress) of(w eventlog.WorkflowName, id eventlog.RunID) *running {
	runs := p.active[w]
	if runs == nil {
		runs = map[eventlog.RunID]*running{}
		p.active[w] = runs
	}
	if runs[id] == nil {
		runs[id] = &running{}
	}
	return runs[id]
}

// remember completes what is known of a run from the state of the workflow.
func (p *Progress) remember(run *running, w eventlog.WorkflowName, id eventlog.RunID) {
	if run.run == id && run.handler != "" || p.State == nil {
		return
	}
	state, _ := p.State(w)
	known := state.Run(id)
	if known == nil {
		return
	}
	*run = running{run: id, handler: known.Handler, title: known.UITitle}
	if known.Event != nil {
		run.event = known.Event.MessageID
	}
	if m := state.Mutation(known.Mutation); m != nil {
		run.call, run.mutated = m.Call, true
	}
}

// rememberCall completes what is known of the run that has made a call, from the state of the workflow.
func (p *Progress) rememberCall(run *running, w eventlog.WorkflowName, id eventlog.MutationID) {
	if p.State == nil {
		return
	}
	state, _ := p.State(w)
	if m := state.Mutation(id); m != nil {
		p.remember(run, w, m.Run)
	}
}

package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type actionView struct {
	Name, Label, Says, Back string
	Danger                  bool
	Asks                    []asked
	Hidden                  []hiddenField
	Given                   url.Values
	Mutation                *readmodel.Mutation
	Mutations               []mutationItem
	Events                  []chosenEvent
	Matched                 int
	// Nothing says that the action is on many items, and that there is none.
	Nothing bool
	More    bool
	// Reached is the time up to which events were looked at; 0 where all were.
	Reached eventlog.Instant
	Refusal *rpc.Problem
}

type hiddenField struct{ Name, Value string }

// eventItem names an event in requests and answers about many.
type eventItem struct {
	Topic     eventlog.Topic     `json:"topic"`
	MessageID eventlog.MessageID `json:"messageId"`
}

// chosenEvent is an event with what a person recognises it by.
type chosenEvent struct {
	eventItem
	Title string
}

type (
	mutationItem struct {
		ID         eventlog.MutationID   `json:"id"`
		Workflow   eventlog.WorkflowName `json:"workflow,omitempty"`
		ParamsHash string                `json:"paramsHash,omitempty"`
		Connector  string                `json:"connector,omitempty"`
		Operation  string                `json:"operation,omitempty"`
		UITitle    *string               `json:"uiTitle,omitempty"`
		Params     json.RawMessage       `json:"params,omitempty"`
	}
	manyAnswer struct {
		Matched  int            `json:"matched"`
		More     bool           `json:"more"`
		Updated  int            `json:"updated"`
		AtRunEnd int            `json:"atRunEnd,omitempty"`
		Items    []mutationItem `json:"items"`
		Noop     []struct {
			ID, MessageID, Code, Reason string
		} `json:"noop"`
	}
)

// confirm shows what an action will do, with the form that does it. Nothing is changed.
func (c *Console) confirm(v *visit) (string, page, error) {
	a := actionOf(v.r.PathValue("action"))
	if a == nil {
		return "", page{}, rpc.Problemf(http.StatusNotFound, "action.unknown", "There is no such action.")
	}
	form := v.r.URL.Query()
	for _, name := range a.path {
		if form.Get(name) == "" {
			return "", page{}, rpc.Malformed("action.incomplete",
				"The address of this page does not say which %s is meant.", name)
		}
	}
	view, err := v.actionView(a, form)
	return "action", page{Title: a.label, Nav: "needs", Body: view, Snapshot: true}, err
}

func (v *visit) actionView(a *action, form url.Values) (actionView, error) {
	id, _ := a.operation()
	if !v.may(id) {
		return actionView{}, v.cfg.Operations.Lookup(id).Ask(v.caller)
	}
	view := actionView{Name: a.id, Label: a.label, Says: a.about(form), Danger: a.danger, Asks: a.asks, Given: form,
		Back: backTo(form.Get("back"))}
	hide := func(name, value string) { view.Hidden = append(view.Hidden, hiddenField{name, value}) }
	for _, name := range a.path {
		hide(name, form.Get(name))
	}
	if a.many {
		if err := v.chooseMany(a, form, &view, hide); err != nil {
			return view, err
		}
		view.Nothing = view.Matched == 0
	}
	if slices.Contains(a.path, "mutation") {
		m, err := ask[readmodel.Mutation](v, "getMutation", map[string]any{"mutation": form.Get("mutation")})
		if err != nil {
			return view, err
		}
		view.Mutation = &m
	}
	return view, nil
}

// chooseMany names the subjects of the action: the items that were ticked, or those that a filter fits now. The form
// sends exactly these, so that no item is changed that was not shown.
func (v *visit) chooseMany(a *action, form url.Values, view *actionView, hide func(name, value string)) error {
	if id, _ := a.operation(); strings.HasSuffix(id, "Mutations") {
		return v.chooseMutations(a, form, view, hide)
	}
	return v.chooseEvents(a, form, view, hide)
}

func (v *visit) chooseMutations(a *action, form url.Values, view *actionView, hide func(name, value string)) error {
	chosen := form["item"]
	view.Matched = len(chosen)
	if len(chosen) == 0 {
		found, err := v.fittingMutations(a, form)
		if err != nil {
			return err
		}
		view.Matched, view.More = found.Matched, found.More
		for _, m := range found.Items {
			chosen = append(chosen, string(m.ID))
		}
	}
	for _, id := range chosen {
		m, err := ask[readmodel.Mutation](v, "getMutation", map[string]any{"mutation": id})
		if err != nil {
			return err
		}
		view.Mutations = append(view.Mutations, mutationItem{ID: m.ID, Workflow: m.Workflow, ParamsHash: m.ParamsHash,
			Connector: m.Connector, Operation: m.Operation, UITitle: m.UITitle, Params: m.Params})
		encoded, err := json.Marshal(mutationItem{ID: m.ID, Workflow: m.Workflow, ParamsHash: m.ParamsHash})
		if err != nil {
			return err
		}
		hide("items", string(encoded))
	}
	return nil
}

// fittingMutations asks the operation which mutations the filter of the form fits now.
func (v *visit) fittingMutations(a *action, form url.Values) (manyAnswer, error) {
	fields := given(form, "workflow", "held", "q")
	if len(fields) == 0 {
		return manyAnswer{}, rpc.Problemf(http.StatusUnprocessableEntity, "items.none", "Nothing is chosen.").
			WithHint("Go back and tick at least one, or take the button for all of them.")
	}
	fields["dryRun"] = true
	fields["limit"] = maxManyAtOnce
	id, resolution := a.operation()
	if resolution != "" {
		fields["resolution"] = resolution
	}
	return ask[manyAnswer](v, id, fields)
}

func (v *visit) chooseEvents(a *action, form url.Values, view *actionView, hide func(name, value string)) error {
	for _, p := range form["item"] {
		topic, message, _ := strings.Cut(p, "/")
		job, err := ask[readmodel.Job](v, "getJob", map[string]any{"workflow": form.Get("workflow"), "topic": topic,
			"messageId": message})
		if err != nil {
			return err
		}
		view.Events = append(view.Events, chosenOf(job))
	}
	if len(form["item"]) == 0 {
		fields := given(form, "workflow", "topic", "state", "status", "held", "q")
		if err := v.between(fields, form); err != nil {
			return err
		}
		fields["limit"], fields["scan"] = maxManyAtOnce, lookedAtOnce
		jobs, err := ask[readmodel.Page[readmodel.Job]](v, "listWorkflowJobs", fields)
		if err != nil {
			return err
		}
		id, _ := a.operation()
		action := decide.EventAction(strings.TrimSuffix(id, "Events"))
		narrowed := form.Get("state") != "" || form.Get("status") != "" || form.Get("held") != ""
		for _, j := range jobs.Items {
			if action.Meant(narrowed, j.State, j.Held.For()) && failedAs(j, form.Get("class"), form.Get("code")) {
				view.Events = append(view.Events, chosenOf(j))
			}
		}
		// What is in another state by then, or held otherwise, is left as it is (C11).
		for _, name := range asCounted {
			if value := form.Get(name); value != "" {
				hide(name, value)
			}
		}
		view.More, view.Reached = jobs.Next != nil, jobs.Reached
	}
	view.Matched = len(view.Events)
	for _, e := range view.Events {
		encoded, err := json.Marshal(e.eventItem)
		if err != nil {
			return err
		}
		hide("items", string(encoded))
	}
	return nil
}

// failedAs reports whether the job's last error is of the class and has the code; an empty one is not asked for.
func failedAs(j readmodel.Job, class, code string) bool {
	if j.Error == nil {
		return class == "" && code == ""
	}
	return (class == "" || class == string(j.Error.Class)) && (code == "" || code == j.Error.Code)
}

// asCounted are the filters that go with the events of a form.
var asCounted = []string{"state", "held"}

func chosenOf(j readmodel.Job) chosenEvent {
	return chosenEvent{eventItem{j.Topic, j.MessageID}, j.Title}
}

// maxManyAtOnce bounds the items of one form: as many as a person can look through.
const maxManyAtOnce = 500

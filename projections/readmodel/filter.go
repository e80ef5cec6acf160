package readmodel

import (
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// ListOptions say what a list holds. An empty filter takes everything; all that are set must
// match. A filter that means nothing to the listed kind matches nothing.
type ListOptions struct {
	// Workflow lists that workflow's; empty lists across workflows.
	Workflow eventlog.WorkflowName
	// Cursor goes on after the page that had it as Next.
	Cursor string
	// Limit is the most items on the page: 0 means DefaultLimit, more than MaxLimit means
	// MaxLimit. A page of large items may have fewer.
	Limit int
	// Desc lists the newest first.
	Desc bool
	// Status, Phase, Handler, Topic, State and Held are exact, but for the Status RunFailed of runs; State is that of a
	// job, Held what an event is held for or a mutation waits for.
	Status, Phase, Handler, Topic, State, Held string
	// Class is that of a run's error; Ended, where it is set, says whether the run is over.
	Class string
	Ended *bool
	// Since and Until keep what happened at Since or later, and before Until; zero for no bound. It is the start
	// of a run or a session, the publishing of an event, the end of a job or the publishing of one that is not
	// over, the request of a mutation and the arrival of an input. A workflow happens at no time.
	Since, Until eventlog.Instant
	// FromVersion and ToVersion keep what those versions of the script did, and those between them; empty for no bound.
	FromVersion, ToVersion eventlog.Version
	// Q is searched for in titles, error messages and ids, whatever the case of its letters (in an id that Pawl made only
	// if Q has ten bytes or more); of a run or a mutation also
	// in the ids and titles of the events that it was about. The whole idempotency key of a mutation finds it too.
	Q string
	// Scan is how many entities are looked at for the page at most, 0 for any number. A page that ends there may be short
	// or empty; its Next goes on, and Reached says how far it has come.
	Scan int
}

// RunFailed as the Status of runs keeps all that have failed, whatever the class.
const RunFailed = "failed"

// mark is the part of the entities among which all lie that the list holds, if there is one with an index.
func (o *ListOptions) mark(kind projections.EntityKind) store.Mark {
	switch {
	case kind == projections.KindEvent && o.State == string(projections.JobDiscarded),
		kind == projections.KindEvent && o.Status == string(eventlog.EventStatusDiscarded):
		return store.MarkAside
	case o.Held != "", kind == projections.KindEvent && o.Status == string(eventlog.EventStatusReserved),
		kind == projections.KindEvent && o.State == string(projections.JobRunning),
		kind == projections.KindMutation && o.Status != "" && !eventlog.MutationStatus(o.Status).Final():
		return store.MarkLive
	}
	return store.MarkNone
}

// row is one entity as the filters see it. An empty field means that the kind has none.
type row struct {
	status, phase, handler, topic, state, held, class string
	ended                                             bool
	failed                                            bool // of a run: the filter RunFailed keeps it
	at                                                eventlog.Instant
	text                                              []string
	// events returns the events that the entity was about; Q is searched for in their ids and titles too. It is nil if
	// the kind has none.
	events func() ([]eventlog.EventRef, error)
	// version returns the version of the script that did it; it is nil if the kind has none.
	version func() (eventlog.Version, error)
}

// fits reports whether the row is among what the list holds. The titles of events are read only if the text is found
// nowhere else.
func (o *ListOptions) fits(v *view, w eventlog.WorkflowName, r *row) (bool, error) {
	if !o.match(r) {
		return false, nil
	}
	if within, err := o.within(r); !within {
		return false, err
	}
	if o.Q == "" || o.says(r.text...) {
		return true, nil
	}
	if r.events == nil {
		return false, nil
	}
	events, err := r.events()
	if err != nil {
		return false, err
	}
	for chunk := range slices.Chunk(events, eventsAtOnce) {
		for _, e := range chunk {
			if o.says(string(e.MessageID)) {
				return true, nil
			}
		}
		titles, err := v.titles(w, chunk)
		if err != nil {
			return false, err
		}
		if o.says(slices.Collect(maps.Values(titles))...) {
			return true, nil
		}
	}
	return false, nil
}

// within reports whether the row is of a version that the list holds.
func (o *ListOptions) within(r *row) (bool, error) {
	if o.FromVersion == "" && o.ToVersion == "" {
		return true, nil
	}
	if r.version == nil {
		return false, nil
	}
	version, err := r.version()
	if err != nil || version == "" {
		return false, err
	}
	return (o.FromVersion == "" || version.Compare(o.FromVersion) >= 0) &&
		(o.ToVersion == "" || version.Compare(o.ToVersion) <= 0), nil
}

// eventsAtOnce bounds the events that are in memory while their titles are read.
const eventsAtOnce = 100

// says reports whether one of the texts has what is searched for, whatever the case of its letters.
func (o *ListOptions) says(texts ...string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), o.Q) })
}

func (o *ListOptions) match(r *row) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	status := is(o.Status, r.status) || o.Status == RunFailed && r.failed
	if !status || !is(o.Phase, r.phase) || !is(o.Handler, r.handler) || !is(o.Topic, r.topic) ||
		!is(o.State, r.state) || !is(o.Held, r.held) || !is(o.Class, r.class) || o.Ended != nil && *o.Ended != r.ended {
		return false
	}
	return r.at >= o.Since && (o.Until == 0 || r.at < o.Until)
}

// across names the workflow in lists across workflows, where nothing else does.
func (o *ListOptions) across(w eventlog.WorkflowName) eventlog.WorkflowName {
	if o.Workflow != "" {
		return ""
	}
	return w
}

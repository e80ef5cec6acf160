package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	homeView struct {
		Needs     []need
		Workflows []workflowRow
		Chart     chartView
	}
	workflowRow struct {
		readmodel.Workflow
		Why       explain.Why
		Last      eventlog.Instant
		Schedules []schedule
		Day       Chart
	}
	// schedule is the next time of a producer.
	schedule struct {
		Name  eventlog.Handler
		Every string
		Next  eventlog.Instant
	}
	// chartView is a chart with the data that the page's script draws.
	chartView struct {
		Chart
		Data string
	}
)

// home shows all workflows, and first what needs a person.
func (c *Console) home(v *visit) (string, page, error) {
	workflows, err := wholeList[readmodel.Workflow](v, "listWorkflows", nil)
	if err != nil {
		return "", page{}, err
	}
	whys, err := ask[readmodel.Page[explain.Why]](v, "explainAll", nil)
	if err != nil {
		return "", page{}, err
	}
	view := homeView{Workflows: make([]workflowRow, 0, len(workflows))}
	of := map[eventlog.WorkflowName]explain.Why{}
	for _, why := range whys.Items {
		of[why.Workflow] = why
		if why.NeedsPerson {
			view.Needs = append(view.Needs, needOf(why))
		}
	}
	var names []eventlog.WorkflowName
	for _, w := range workflows {
		names = append(names, w.Name)
		row := workflowRow{Workflow: w, Why: of[w.Name], Last: c.activity.last(w.Name),
			Day: c.activity.chart([]eventlog.WorkflowName{w.Name})}
		if row.Schedules, err = v.schedules(w.Name); err != nil {
			return "", page{}, err
		}
		view.Workflows = append(view.Workflows, row)
	}
	slices.SortStableFunc(view.Workflows, func(a, b workflowRow) int {
		rank := func(r workflowRow) int {
			switch {
			case r.Why.NeedsPerson:
				return 0
			case r.Status == "archived":
				return 2
			}
			return 1
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	view.Chart = drawn(c.activity.chart(names))
	return "home", page{Title: "Home", Nav: "home", Body: view}, nil
}

// need is why a workflow needs a person.
type need struct {
	explain.Why
	Word  string
	Since eventlog.Instant
}

// needOf says whether a workflow waits for a person, or goes on and should be looked at by a person.
func needOf(why explain.Why) need {
	n := need{Why: why, Since: why.Since}
	if why.Reason != nil {
		n.Word = string(*why.Reason)
	}
	if a := why.Attention; a != nil && (why.Reason == nil || why.Reason.Meaning() != decide.NeedsPerson) {
		n.Word, n.Since = string(a.Reason), a.Since
	}
	return n
}

// schedules are the producers of a workflow with their next times.
func (v *visit) schedules(w eventlog.WorkflowName) ([]schedule, error) {
	handlers, err := ask[readmodel.Page[readmodel.Handler]](v, "listWorkflowHandlers", map[string]any{"workflow": w})
	if err != nil {
		return nil, err
	}
	var list []schedule
	for _, h := range handlers.Items {
		if h.Schedule == nil {
			continue
		}
		list = append(list, schedule{Name: h.Name, Every: *h.Schedule, Next: h.NextRunAt})
	}
	return list, nil
}

// wholeList reads a list page by page.
func wholeList[Item any](v *visit, id string, fields map[string]any) ([]Item, error) {
	wanted := map[string]any{"limit": readmodel.MaxLimit}
	for name, value := range fields {
		wanted[name] = value
	}
	var items []Item
	for {
		page, err := ask[readmodel.Page[Item]](v, id, wanted)
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.Next == nil {
			return items, nil
		}
		wanted["cursor"] = *page.Next
	}
}

// drawn adds the data that the page's script draws: the times and three rows of numbers.
func drawn(c Chart) chartView {
	data := [4][]int64{}
	for i, t := range c.Slots {
		data[0] = append(data[0], c.From.Add(slot*time.Duration(i)).Unix())
		data[1] = append(data[1], int64(t.Arrived))
		data[2] = append(data[2], int64(t.Changed))
		data[3] = append(data[3], int64(t.Failed))
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("numbers do not encode: %v", err))
	}
	return chartView{c, string(encoded)}
}

// Spark is a chart of one line's height.
type Spark struct {
	Label string
	Bars  []Bar
}

// Bar is an hour of a Spark in which something happened, in a picture of 96 by 20.
type Bar struct{ X, Y, H, Tone string }

// Spark draws the inputs and the failures.
func (c Chart) Spark() Spark {
	s := Spark{Label: fmt.Sprintf("%s in and %s in 24 hours", eventlog.Count(c.Sum.Arrived, "input"),
		eventlog.Count(c.Sum.Failed, "failure"))}
	hours := make([]Tally, 24)
	most := 1
	for i, t := range c.Slots {
		hour := &hours[i*len(hours)/len(c.Slots)]
		hour.add(t)
		most = max(most, hour.Arrived+hour.Done+hour.Failed)
	}
	for i, t := range hours {
		sum := t.Arrived + t.Done + t.Failed
		if sum == 0 {
			continue
		}
		height := 2 + 18*float64(sum)/float64(most)
		b := Bar{X: fmt.Sprint(4 * i), Y: fmt.Sprintf("%.1f", 20-height), H: fmt.Sprintf("%.1f", height)}
		if t.Failed > 0 {
			b.Tone = "bad"
		}
		s.Bars = append(s.Bars, b)
	}
	return s
}

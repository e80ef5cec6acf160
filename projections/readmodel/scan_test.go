package readmodel_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/projections/foldtest"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// A list that looks at few items at a time comes to the same items in the end: each page looks at no more, says how far
// it has come where it is not full, and leads on.
func TestScanBoundsAPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 3)
	w.steps(60)
	for _, o := range []readmodel.ListOptions{
		{Q: "message"}, {Q: "no such text"}, {Status: "consumed", Desc: true}, {Workflow: "wf-1", Q: "msg", Desc: true}, {},
	} {
		for _, scan := range []int{1, 3, 7, 1000} {
			o := o
			o.Limit, o.Scan = 5, 0
			want := w.all("events", o)
			o.Scan = scan
			if got := w.all("events", o); !slices.Equal(got, want) {
				t.Errorf("%+v: %d items, want %d", o, len(got), len(want))
			}
			page, err := w.reader.Events(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			o.Q, o.Status, o.Limit, o.Scan = "", "", scan, 0
			looked, err := w.reader.Events(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if last := looked.Items[len(looked.Items)-1].PublishedAt; page.Reached != 0 && page.Reached != last {
				t.Errorf("a page of %d looks until %s, the item there is of %s", scan, page.Reached, last)
			}
			if short := len(page.Items) < 5 && page.Next != nil; short != (page.Reached != 0) {
				t.Errorf("%+v: %d items, next %v, reached %v", o, len(page.Items), page.Next != nil, page.Reached)
			}
		}
	}
}

// What waits and what was put aside is listed by marks of its own, of one workflow and across workflows, forwards and
// backwards, page by page: exactly what a filter of all would find, without reading what is finished.
func TestMarkedListsAreFiltered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 4)
	w.histories = append(w.histories, foldtest.NewConcurrentHistory(w.logs[0], "wf-4"))
	found := map[string]int{}
	for range 10 {
		w.steps(12)
		for _, c := range []struct {
			list, field, value string
			o                  readmodel.ListOptions
		}{
			{"jobs", "state", "discarded", readmodel.ListOptions{State: "discarded"}},
			{"events", "status", "discarded", readmodel.ListOptions{Status: "discarded"}},
			{"events", "status", "reserved", readmodel.ListOptions{Status: "reserved"}},
			{"jobs", "state", "running", readmodel.ListOptions{State: "running"}},
			{"jobs", "held.reason", "repair", readmodel.ListOptions{Held: "repair"}},
			{"mutations", "status", "needs_reconcile", readmodel.ListOptions{Status: "needs_reconcile"}},
			{"mutations", "status", "needs_reconcile", readmodel.ListOptions{Held: "reconcile"}},
			{"mutations", "status", "in_flight", readmodel.ListOptions{Status: "in_flight"}},
			{"mutations", "status", "awaiting_approval", readmodel.ListOptions{Status: "awaiting_approval"}},
		} {
			for _, workflow := range []string{"", "wf-0", "wf-4"} {
				for _, desc := range []bool{false, true} {
					c.o.Limit, c.o.Desc = 2, desc
					all := readmodel.ListOptions{Limit: 1000, Desc: desc}
					for _, h := range w.histories {
						if workflow == string(h.State.Name) {
							c.o.Workflow, all.Workflow = h.State.Name, h.State.Name
						}
					}
					var want []string
					for _, item := range w.all(c.list, all) {
						var fields map[string]any
						if err := json.Unmarshal([]byte(item), &fields); err != nil {
							t.Fatal(err)
						}
						outer, inner, nested := strings.Cut(c.field, ".")
						value := fields[outer]
						if held, ok := value.(map[string]any); nested && ok {
							value = held[inner]
						}
						if value == c.value {
							want = append(want, item)
						}
					}
					if got := w.all(c.list, c.o); !slices.Equal(got, want) {
						t.Errorf("%s %+v: %d items, want %d", c.list, c.o, len(got), len(want))
					}
					found[fmt.Sprint(c.list, " ", c.field, " ", c.value)] += len(want)
				}
				c.o.Workflow = ""
			}
		}
	}
	for what, n := range found {
		if n == 0 {
			t.Errorf("%s: there are none, which tests nothing", what)
		}
	}
}

package subscription

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// unreadable is the type of the feed's announcement that a part of the log cannot be read.
const unreadable = "log.unreadable"

// FeedSubjects are the subjects of the feed, under the prefix, that hold these facts of these workflows; an empty list
// means all. A fact is a type such as run.committed, or a group of types such as run.*. The announcements of parts of
// the log that cannot be read are always included. The error names a text that is no fact or no workflow.
func FeedSubjects(prefix string, facts, workflows []string) ([]string, error) {
	types, err := chosenTypes(facts)
	if err != nil {
		return nil, err
	}
	if len(workflows) == 0 && types == nil {
		return []string{prefix + ".feed.>"}, nil
	}
	of := slices.Clone(workflows)
	slices.Sort(of)
	of = slices.Compact(of)
	for _, w := range of {
		if err := eventlog.WorkflowName(w).Validate(); err != nil {
			return nil, err
		}
	}
	if len(of) == 0 {
		of = []string{"*"}
	} else {
		of = append(of, "_log")
	}
	var subjects []string
	for _, w := range of {
		if types == nil {
			subjects = append(subjects, prefix+".feed."+w+".>")
			continue
		}
		for _, t := range types {
			subjects = append(subjects, prefix+".feed."+w+"."+t)
		}
	}
	return subjects, nil
}

// chosenTypes are the types, each once and none inside of another; nil for all.
func chosenTypes(facts []string) ([]string, error) {
	if len(facts) == 0 {
		return nil, nil
	}
	known := eventlog.FactTypes()
	types := []string{unreadable}
	for _, fact := range facts {
		group, all := strings.CutSuffix(fact, ".*")
		if !slices.ContainsFunc(known, func(k eventlog.FactType) bool {
			return string(k) == fact || all && strings.HasPrefix(string(k), group+".")
		}) {
			return nil, fmt.Errorf("there is no fact %q: write a type such as run.committed, or run.* for all that are of runs",
				fact)
		}
		types = append(types, fact)
	}
	slices.Sort(types)
	types = slices.Compact(types)
	return slices.DeleteFunc(types, func(t string) bool {
		group, _, _ := strings.Cut(t, ".")
		return !strings.HasSuffix(t, ".*") && slices.Contains(types, group+".*")
	}), nil
}

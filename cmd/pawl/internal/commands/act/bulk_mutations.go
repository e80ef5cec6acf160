package act

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// mutationsAction is an operator's action on mutations: those named, or those that a filter chooses.
type mutationsAction struct {
	bulkFlags
	Mutation []string `arg:"" optional:"" help:"The mutations, as pawl mutations list shows them; left out with --where."`
}

func (c *mutationsAction) act(engine *client.Finder, screen term.Screen, on bulkAction) error {
	return c.bulkFlags.act(engine, screen, c.Mutation, on)
}

// bulkFlags are the flags of an action on mutations.
type bulkFlags struct {
	client.Flags
	Where   whereFlag `placeholder:"held=REASON,q=TEXT" help:"Instead of naming mutations, those that fit: any of workflow=, held=, class= and code= (of the error), q=, since=, until= (when their call left, or was asked for), limit=."`
	Comment string    `placeholder:"TEXT" help:"Why, for the record: it is kept with each mutation."`
	Yes     bool      `short:"y" help:"Do not ask before acting on what --where chooses."`
	DryRun  bool      `help:"Only say how many mutations would be changed."`
}

// bulkAction is an action on many mutations, and its form for one.
type bulkAction struct {
	operation, one, verb, done string
	params                     map[string]any
	then                       consequence
}

// act carries the action out on the mutations that are named, or that the filter chooses.
func (f *bulkFlags) act(engine *client.Finder, screen term.Screen, named []string, on bulkAction) error {
	usage := fmt.Sprintf("pawl %s MUTATION, or pawl %s --where held=REASON,q=TEXT", on.verb, on.verb)
	switch {
	case f.Where != "" && len(named) > 0:
		return exit.Misconfigured(usage, "name the mutations or say --where, not both")
	case f.Where == "" && len(named) == 0:
		return exit.Misconfigured(usage, "nothing says which mutations are meant")
	case f.Where == "" && f.DryRun:
		return exit.Misconfigured(usage, "--dry-run belongs to --where")
	}
	if f.Comment != "" {
		on.params["comment"] = f.Comment
	}
	filter := map[string]any{"dryRun": true}
	if f.Where != "" {
		if _, err := where(f.Where, on.operation, mutationFilters, filter, usage); err != nil {
			return err
		}
	}
	connected, err := engine.Connect(f.Flags)
	if err != nil {
		return err
	}
	if len(named) == 1 {
		return actOnOne(connected, named[0], on)
	}
	chosen, err := f.count(connected, named, filter, on)
	if err != nil || f.DryRun || chosen.Matched == 0 {
		return err
	}
	if f.Where != "" && !f.Yes {
		fmt.Fprintf(screen.Err, "%s of %s: %s\n", chosen, chosen.workflows(), on.then.each)
		chosen.list(screen.Err)
		if err := confirm(screen, fmt.Sprintf("%s %s?", on.verb, chosen)); err != nil {
			return err
		}
	}
	items := make([]mutationRef, 0, len(chosen.Items))
	for _, m := range chosen.Items {
		items = append(items, m.mutationRef)
	}
	return actOnMany(connected, items, on)
}

// actOnOne carries the action out on one mutation.
func actOnOne(connected *client.Connection, mutation string, on bulkAction) error {
	screen, then, params := connected.Screen, on.then, on.params
	params["mutation"] = mutation
	return client.Answer(connected, on.one, params, func(m struct {
		ID, Workflow, Connector, Operation string
		Resends                            bool
	}) error {
		var w workflowStatus
		then := then.sending(m.Resends)
		if then.work != "" {
			if err := connected.Call("getWorkflow", map[string]any{"workflow": m.Workflow}, &w); err != nil {
				// The action is recorded: after an error a person would do it again.
				fmt.Fprintf(screen.Out, "mutation %s %s; how %s stands now is not known: %v\n", m.ID, then.done, m.Workflow, err)
				return nil
			}
		}
		fmt.Fprintln(screen.Out, then.of(fmt.Sprintf("%s (%s.%s of %s)", m.ID, m.Connector, m.Operation, m.Workflow), w))
		return nil
	})
}

// mutationFilters are the keys that --where takes for mutations.
var mutationFilters = []string{"workflow", "held", "class", "code", "q", "since", "until", "limit"}

// chosenMutations is the answer to a count. The action is on these items, and on none that comes later (C11).
type chosenMutations struct {
	Matched int              `json:"matched"`
	More    bool             `json:"more"`
	Updated int              `json:"updated"`
	Items   []chosenMutation `json:"items,omitempty"`
	Noop    []leftMutation   `json:"noop"`
}

// chosenMutation is a mutation as a person sees it before it is acted on.
type chosenMutation struct {
	mutationRef
	Connector string  `json:"connector"`
	Operation string  `json:"operation"`
	UITitle   *string `json:"uiTitle"`
}

type mutationRef struct {
	ID         string `json:"id"`
	Workflow   string `json:"workflow"`
	ParamsHash string `json:"paramsHash"`
}

type leftMutation struct {
	ID     string `json:"id"`
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// String counts what a filter has chosen.
func (c chosenMutations) String() string {
	if c.More {
		return "the oldest " + term.Plural(c.Matched, "mutation")
	}
	return term.Plural(c.Matched, "mutation")
}

// list prints the first of the chosen mutations, so that a person sees what the filter means.
func (c chosenMutations) list(to io.Writer) {
	const most = 10
	for i, m := range c.Items {
		if i == most {
			fmt.Fprintf(to, "  … and %d more; pawl mutations list shows them with the same filter\n", len(c.Items)-most)
			return
		}
		line := fmt.Sprintf("%s  %s.%s of %s", m.ID, m.Connector, m.Operation, m.Workflow)
		if m.UITitle != nil {
			line += "  " + term.OneLine(*m.UITitle, 80)
		}
		fmt.Fprintln(to, "  "+line)
	}
}

// workflows names those whose mutations were chosen.
func (c chosenMutations) workflows() string {
	var names []string
	for _, m := range c.Items {
		names = append(names, m.Workflow)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// count says which mutations are meant, with the hashes of their parameters, and changes none.
func (f *bulkFlags) count(connected *client.Connection, named []string, filter map[string]any, on bulkAction) (
	chosen chosenMutations, err error) {
	for _, id := range named {
		var m chosenMutation
		if err := connected.Call("getMutation", map[string]any{"mutation": id}, &m); err != nil {
			return chosen, err
		}
		chosen.Items, chosen.Matched = append(chosen.Items, m), chosen.Matched+1
	}
	if len(named) > 0 {
		return chosen, nil
	}
	if resolution, ok := on.params["resolution"]; ok {
		filter["resolution"] = resolution
	}
	if err := connected.Call(on.operation, filter, &chosen); err != nil {
		return chosen, err
	}
	switch {
	case (f.DryRun || chosen.Matched == 0) && connected.JSON:
		return chosen, printValue(connected.Screen, chosen)
	case f.DryRun:
		fmt.Fprintf(connected.Screen.Out, "%s; nothing was changed\n", chosen)
		chosen.list(connected.Screen.Out)
	case chosen.Matched == 0:
		fmt.Fprintf(connected.Screen.Out, "no mutation fits %s\n", f.Where)
	}
	return chosen, nil
}

// mutationsAtOnce bounds the mutations of one request.
const mutationsAtOnce = 100

// actOnMany acts on exactly these mutations, and prints for each one that was left as it was the reason.
func actOnMany(connected *client.Connection, items []mutationRef, on bulkAction) error {
	screen, sum := connected.Screen, chosenMutations{Noop: []leftMutation{}}
	for chunk := range slices.Chunk(items, mutationsAtOnce) {
		var part chosenMutations
		on.params["items"] = chunk
		if err := connected.Call(on.operation, on.params, &part); err != nil {
			if sum.Updated > 0 {
				fmt.Fprintf(screen.Err, "%s: %s so far\n", on.done, term.Plural(sum.Updated, "mutation"))
			}
			return err
		}
		sum.Matched += part.Matched
		sum.Updated += part.Updated
		sum.Noop = append(sum.Noop, part.Noop...)
	}
	if connected.JSON {
		if err := printValue(screen, sum); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(screen.Out, "%s: %d of %s\n", on.done, sum.Updated, term.Plural(sum.Matched, "mutation"))
		if sum.Updated > 0 && on.then.later != "" {
			fmt.Fprintln(screen.Out, on.then.later)
		}
		const most = 20
		for i, left := range sum.Noop {
			if i == most {
				fmt.Fprintf(screen.Err, "  … and %d more; --json lists all\n", len(sum.Noop)-most)
				break
			}
			fmt.Fprintf(screen.Err, "  not %s: %s\n", left.ID, term.OneLine(left.Reason, 300))
		}
	}
	if sum.Updated == 0 && len(sum.Noop) > 0 {
		return exit.Silent(exit.CodeFailed)
	}
	return nil
}

package bench

import (
	"fmt"
	"strconv"
)

// load is one stage: how many items are in flight, and in which workflows.
type load struct {
	// figures is the ending of the names of its figures.
	figures  string
	inFlight int
	// workflow takes all items; if it is empty, there is a workflow for each item in flight.
	workflow string
	// path is the path on the other process's server that the workflows send to.
	path string
}

// oneWorkflow and slowWorkflow have a concurrent consumer; the second one's calls are answered slowly.
const (
	oneWorkflow  = "bench-one"
	slowWorkflow = "bench-slow"
)

// loads lists the stages in their order.
func (c *Bench) loads() []load {
	var all []load
	for _, n := range c.InFlight {
		all = append(all, load{figures: "c" + strconv.Itoa(n), inFlight: n, path: quickPath})
	}
	if n := c.OneWorkflow; n > 0 {
		all = append(all, load{figures: "one_workflow", inFlight: n, workflow: oneWorkflow, path: quickPath},
			load{figures: "slow_c" + strconv.Itoa(n), inFlight: n, workflow: slowWorkflow, path: slowPath})
	}
	return all
}

// sources are the workflows of the load.
func (l load) sources(sink string) []string {
	url := "http://" + sink + l.path
	if l.workflow != "" {
		return []string{Source(l.workflow, url, l.inFlight)}
	}
	var all []string
	for i := range l.inFlight {
		all = append(all, Source(benchName(i), url, 0))
	}
	return all
}

// String names the stage for people.
func (l load) String() string {
	switch l.workflow {
	case oneWorkflow:
		return fmt.Sprintf("%d in one workflow", l.inFlight)
	case slowWorkflow:
		return fmt.Sprintf("%d in one workflow, calls of %s", l.inFlight, slowAnswer)
	}
	return strconv.Itoa(l.inFlight)
}

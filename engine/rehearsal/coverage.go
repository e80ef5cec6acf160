package rehearsal

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/sandbox"
)

// Coverage says which lines of the script's functions have run in the cases.
type Coverage struct {
	// Lines are those on which a statement of a function begins, sorted.
	Lines []LineRuns `json:"lines"`
}

// LineRuns is a line of the script, and how often it has run. A line with several statements has run in part where not
// all of its statements have run.
type LineRuns struct {
	Line int  `json:"line"`
	Ran  int  `json:"ran"` // the runs of its statement that has run most often
	Part bool `json:"part,omitempty"`
}

// Share is the part of the lines that has run completely, from 0 to 1; 1 for a script without any.
func (c Coverage) Share() float64 {
	if len(c.Lines) == 0 {
		return 1
	}
	ran := 0
	for _, line := range c.Lines {
		if line.Ran > 0 && !line.Part {
			ran++
		}
	}
	return float64(ran) / float64(len(c.Lines))
}

// Missed lists the lines that have not run, Partly those that have run in part.
func (c Coverage) Missed() (missed, partly []int) {
	for _, line := range c.Lines {
		switch {
		case line.Ran == 0:
			missed = append(missed, line.Line)
		case line.Part:
			partly = append(partly, line.Line)
		}
	}
	return missed, partly
}

// counter is an executor that has the statements of one script counted, and lets its time stand still.
type counter struct {
	sandbox.Executor

	mu   sync.Mutex
	runs map[sandbox.Place]int
}

// Invoke implements sandbox.Executor.
func (c *counter) Invoke(ctx context.Context, call sandbox.Invocation, host sandbox.Host) (sandbox.Result, error) {
	call.Still = true
	call.Source.Counted = true
	result, err := c.Executor.Invoke(ctx, call, host)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs = map[sandbox.Place]int{}
	}
	for _, count := range result.Counts {
		c.runs[count.Place] += count.Runs
	}
	return result, err
}

// coverage is what has run so far.
func (c *counter) coverage() Coverage {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := map[int]LineRuns{}
	for place, runs := range c.runs {
		line, known := lines[place.Line]
		switch {
		case !known:
			line = LineRuns{Line: place.Line, Ran: runs}
		default:
			line.Part = line.Part || (runs == 0) != (line.Ran == 0)
			line.Ran = max(line.Ran, runs)
		}
		lines[place.Line] = line
	}
	found := Coverage{Lines: []LineRuns{}}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		found.Lines = append(found.Lines, lines[line])
	}
	return found
}

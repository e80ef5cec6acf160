package maintain

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/ops/rpc"
)

// Client carries out operations and follows the log; *rpc.Client is one.
type Client interface {
	Do(ctx context.Context, operation string, params, out any) error
	Log(ctx context.Context, query rpc.LogQuery) iter.Seq2[json.RawMessage, error]
}

// Loop finds workflows that want a repair and has them repaired. Client and Maintainer are required.
type Loop struct {
	Client     Client
	Maintainer Maintainer
	// Workflows are the workflows that it cares for; an empty list means all.
	Workflows []string
	// PerDay bounds the repairs of one workflow in 24 hours, those of people too; 0 means DefaultPerDay.
	PerDay int
	// Parallel bounds how many workflows are cared for at once; 0 means 1.
	Parallel int
	// Timeout bounds one answer of the maintainer; 0 means DefaultTimeout.
	Timeout time.Duration
	// Pause is the time before another attempt, after a maintainer has failed or where a workflow may not be repaired
	// yet; 0 means DefaultPause.
	Pause time.Duration
	Quiet Quiet
	// Proposals is the folder into which repairs are written for a person; if it is empty, repairs need no person.
	Proposals string
	// Report is called with one line about what was done with one workflow. It may be called from several goroutines.
	Report func(workflow, what string)
	// Now is time.Now when nil.
	Now func() time.Time

	mu sync.Mutex
	// atWork are the workflows that are being cared for; tried is the last request of each that was handled, so that it
	// is not handled again before the pause is over.
	atWork map[string]bool
	tried  map[string]attempt
	places chan struct{}
	ended  sync.WaitGroup
}

// The defaults of a Loop.
const (
	DefaultPerDay  = 20
	DefaultTimeout = 10 * time.Minute
	DefaultPause   = time.Minute
)

// request is a repair that the engine asks for.
type request struct {
	Workflow, Version, Run string
	Attempt                int
}

// attempt is a request that was handled, and the time from which it may be handled again.
type attempt struct {
	request
	again time.Time
}

// wants are the facts after which a repair may be wanted, or a proposal is over.
const wants = "run.failed,workflow.deployed,workflow.repair_counted,handler.repair_counted,workflow.resumed"

func (l *Loop) defaults() {
	if l.PerDay == 0 {
		l.PerDay = DefaultPerDay
	}
	if l.Timeout == 0 {
		l.Timeout = DefaultTimeout
	}
	if l.Pause == 0 {
		l.Pause = DefaultPause
	}
	if l.Now == nil {
		l.Now = time.Now
	}
	l.atWork, l.tried = map[string]bool{}, map[string]attempt{}
	l.places = make(chan struct{}, max(l.Parallel, 1))
}

// wanted are the repairs that the engine asks for.
func (l *Loop) wanted(ctx context.Context) (all []request, err error) {
	params := map[string]any{"limit": 1000}
	for {
		var page struct {
			Items []struct {
				Name, Version string
				Repair        *struct{ Attempt int }
			}
			Next *string
		}
		if err := l.Client.Do(ctx, "listWorkflows", params, &page); err != nil {
			return nil, err
		}
		for _, w := range page.Items {
			if w.Repair == nil || len(l.Workflows) > 0 && !slices.Contains(l.Workflows, w.Name) {
				continue
			}
			var runs struct{ Items []struct{ ID string } }
			err := l.Client.Do(ctx, "listWorkflowRuns", map[string]any{"workflow": w.Name, "status": "failed:logic",
				"order": "desc", "limit": 1}, &runs)
			if err != nil {
				return nil, err
			}
			if len(runs.Items) > 0 {
				all = append(all, request{w.Name, w.Version, runs.Items[0].ID, w.Repair.Attempt})
			}
		}
		if page.Next == nil {
			return all, nil
		}
		params["cursor"] = *page.Next
	}
}

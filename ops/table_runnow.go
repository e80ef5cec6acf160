package ops

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	// runNowAnswer is the workflow, and what has become of each of its producers (S5).
	runNowAnswer struct {
		readmodel.Workflow
		Producers []QueuedProducer `json:"producers" jsonschema:"each producer of the workflow, in the script's order"`
	}
	// QueuedProducer is a producer that runs now or is queued.
	QueuedProducer struct {
		Name   eventlog.Handler `json:"name"`
		Runs   ProducerRuns     `json:"runs" jsonschema:"now, or queued: queued runs by itself after what stands in behind has ended"`
		Behind *Behind          `json:"behind" jsonschema:"what comes first; null for a producer that runs now"`
	}
	// Behind is what a queued producer waits for: what explainWorkflow says of its workflow at that moment.
	Behind struct {
		Reason *decide.Reason `json:"reason" jsonschema:"null while nothing holds the workflow and another run goes first"`
		// Message says it in a few sentences, Commands what a person can do about it.
		Message  string   `json:"message"`
		Commands []string `json:"commands"`
	}
)

func runNow(ctx context.Context, c *Call, r *inWorkflow) (runNowAnswer, error) {
	queued, err := c.backend.cfg.Engine.RunNow(ctx, c.Actor, r.Workflow, "runWorkflow")
	if err != nil {
		return runNowAnswer{}, err
	}
	s, err := c.backend.state(r.Workflow)
	return runNowAnswer{Workflow: readmodel.WorkflowOf(&s), Producers: c.backend.queuedProducers(queued)}, err
}

// queuedProducers says what became of each producer, by the state of the workflow when the command was recorded: a
// producer that ran then may have ended since.
func (b *backend) queuedProducers(q *decide.Queued) []QueuedProducer {
	why := b.explainTodo(&q.State, q.First)
	if past := b.cfg.Engine.Damage().Workflows[q.State.Name]; past != nil {
		why = explain.Damaged(q.State.Name, past)
	}
	behind := Behind{Reason: why.Reason, Message: why.Message, Commands: why.Commands}
	if why.Moving {
		behind.Message += " What is queued follows by itself."
		behind.Commands = append(behind.Commands, fmt.Sprintf("pawl why %s", q.State.Name))
	}
	list := make([]QueuedProducer, len(q.Producers))
	for i, name := range q.Producers {
		if name == q.Running {
			list[i] = QueuedProducer{Name: name, Runs: RunsNow}
		} else {
			list[i] = QueuedProducer{Name: name, Runs: RunsQueued, Behind: &behind}
		}
	}
	return list
}

package explain

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// NameDiscarded adds the oldest discarded event and its last error, if the explanation says that there is one. It asks
// the local store, whose error it returns, so not every explanation is completed in this way.
func (w *Why) NameDiscarded(ctx context.Context, reader *readmodel.Reader) error {
	for i := range w.parts {
		if w.parts[i].of != PartDiscarded {
			continue
		}
		oldest, err := reader.Jobs(ctx, readmodel.ListOptions{Workflow: w.Workflow, State: string(projections.JobDiscarded),
			Limit: 1})
		if err != nil {
			return fmt.Errorf("find the oldest discarded event of workflow %s: %w", w.Workflow, err)
		}
		if len(oldest.Items) == 1 {
			w.nameDiscarded(&w.parts[i], oldest.Items[0])
		}
	}
	return nil
}

func (w *Why) nameDiscarded(p *part, job readmodel.Job) {
	name := fmt.Sprintf("event %q", job.MessageID)
	if job.Title != "" && job.Title != string(job.MessageID) {
		name += titled(job.Title)
	}
	failed := ""
	if job.Error != nil {
		failed = ", which failed: " + quoted(job.Error.Message)
	}
	p.add("The oldest is %s of topic %s%s", name, job.Topic, sentence(failed))
	p.commands = append([]string{eventCommand("jobs show", w.Workflow, job.Topic, job.MessageID)}, p.commands...)
	w.compose()
}

package decide

import "github.com/pawl-run/pawl/projections"

// LooksUp names what of the workflow's past the command is sure to look up, as far as the command alone shows it. To
// read that before the decision saves a decision that would only find it missing.
func LooksUp(cmd Command) []projections.Key {
	switch cmd := cmd.(type) {
	case Push:
		keys := make([]projections.Key, 0, 2*len(cmd.Items))
		for _, item := range cmd.Items {
			keys = append(keys, projections.EventKey(cmd.Topic, item.MessageID),
				projections.InputKey(pushInput(cmd.Topic, item).ID()))
		}
		return keys
	case FinishPrepare:
		if cmd.Next != nil {
			return published(cmd.Next.Publishes)
		}
	case CommitRun:
		return published(cmd.Publishes)
	}
	return nil
}

// published are the events that are published.
func published(all []Publish) (keys []projections.Key) {
	for _, p := range all {
		for _, topic := range p.Topics {
			keys = append(keys, projections.EventKey(topic, p.MessageID))
		}
	}
	return keys
}

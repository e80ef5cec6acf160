package eventlog

import "fmt"

// Chain checks that the histories of the workflows of one partition are whole: revisions are dense and each record
// names the hash of the one before. The zero Chain expects every workflow from its first revision; Seed lets it go on
// from a checkpoint. It is not safe for concurrent use.
type Chain struct {
	heads map[WorkflowName]Head
}

// Seed sets the head of a workflow whose history up to there is already known to be whole.
func (c *Chain) Seed(w WorkflowName, head Head) {
	if c.heads == nil {
		c.heads = make(map[WorkflowName]Head)
	}
	c.heads[w] = head
}

// Head returns the workflow's head as far as it was followed; the zero Head if it has none yet.
func (c *Chain) Head(w WorkflowName) Head { return c.heads[w] }

// Check takes the next record. An error wraps ErrDamaged and names workflow, revision and
// position; the workflow's head then stays where it was, so that every later record of it fails
// too, while other workflows go on.
func (c *Chain) Check(r Record) error {
	head := c.heads[r.Workflow]
	switch {
	case r.Position.Seq <= head.Seq:
		return fmt.Errorf("%w: %s revision %d stands at %s, not after its revision %d at sequence %d",
			ErrDamaged, r.Workflow, r.Revision, r.Position, head.Revision, head.Seq)
	case r.Revision <= head.Revision:
		return fmt.Errorf("%w: %s revision %d at %s repeats: revision %d was read before",
			ErrDamaged, r.Workflow, r.Revision, r.Position, head.Revision)
	case r.Revision > head.Revision+1:
		return fmt.Errorf("%w: %s lacks revisions %d to %d before revision %d at %s",
			ErrDamaged, r.Workflow, head.Revision+1, r.Revision-1, r.Revision, r.Position)
	case r.Prev != head.Hash:
		return fmt.Errorf("%w: %s revision %d at %s follows a revision %d with hash %s, the log's has %s",
			ErrDamaged, r.Workflow, r.Revision, r.Position, head.Revision, r.Prev, head.Hash)
	}
	c.Seed(r.Workflow, r.Head())
	return nil
}

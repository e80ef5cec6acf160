package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/projections/store"
)

// Verification is what a check of the whole log found.
type Verification struct {
	OK          bool     `json:"ok"`
	Workflows   int      `json:"workflows"`
	Transitions int      `json:"transitions"`
	Problems    []string `json:"problems"`
	// NotFolded workflows were read, but not folded anew, since their history takes too much memory.
	NotFolded []eventlog.WorkflowName `json:"notFolded,omitempty"`

	ofLog []string
}

// LogProblems lists the problems of the log; the others are problems of the local store.
func (v *Verification) LogProblems() []string { return v.ofLog }

// problem adds a problem of the log.
func (v *Verification) problem(format string, args ...any) {
	problem := fmt.Sprintf(format, args...)
	v.Problems, v.ofLog = append(v.Problems, problem), append(v.ofLog, problem)
}

// endLost adds that the log lacks revisions of the workflow that the store has.
func (v *Verification) endLost(name eventlog.WorkflowName, stored, logged uint64) {
	v.problem("%v: workflow %s is at revision %d in the local store, and at revision %d in the log", eventlog.ErrDamaged,
		name, stored, logged)
}

// differs adds a problem of the local store, which is disposable.
func (v *Verification) differs(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...)+"; "+rebuild)
}

// Verify reads every partition from its beginning and checks that each workflow's revisions and
// hashes are whole. Then it folds each workflow anew, without leaving anything out, and compares
// the result with the store. An engine may run meanwhile: a workflow is compared at the revision that the
// store had, and it is no problem when the store does not have a new workflow yet. The findings are in the
// Verification; an error means that log or store could not be read to the end. With a nil reader only the
// log is checked. A fold keeps a workflow's whole history in memory, so a workflow with more than maxFolded
// bytes in the log is not folded; 0 means no bound.
func Verify(
	ctx context.Context, log eventlog.Log, reader *readmodel.Reader, maxFolded int64,
) (Verification, error) {
	v := Verification{Problems: []string{}}
	for p := range log.Partitions() {
		if err := v.partition(ctx, log, reader, p, maxFolded); err != nil {
			return v, err
		}
	}
	v.OK = len(v.Problems) == 0
	return v, nil
}

func (v *Verification) partition(
	ctx context.Context, log eventlog.Log, reader *readmodel.Reader, partition int, maxFolded int64,
) error {
	var kept *store.Snapshot
	var checkpoint store.Checkpoint
	if reader != nil {
		if flush := reader.Flush; flush != nil {
			if err := flush(ctx); err != nil {
				return fmt.Errorf("bring the local store up to date: %w", err)
			}
		}
		// Everything up to the checkpoint is in the snapshot, which is taken later. Records behind the checkpoint
		// may not be in it yet.
		var err error
		if checkpoint, _, err = reader.Store.Checkpoint(partition); err != nil {
			return err
		}
		if kept, err = reader.Store.Snapshot(); err != nil {
			return err
		}
		defer kept.Close()
	}
	found, err := v.chain(ctx, log, partition)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if name != eventlog.Installation {
			v.Workflows++
		}
		switch past := found[name]; {
		case past.broken:
			continue // its problem is listed already, and it cannot be folded
		case maxFolded > 0 && past.bytes > maxFolded:
			core, err := storedCore(kept, name)
			if err != nil {
				return err
			}
			if core != nil && core.Head.Revision > past.revision {
				v.endLost(name, core.Head.Revision, past.revision)
				continue
			}
			v.NotFolded = append(v.NotFolded, name)
			continue
		}
		if err := v.fold(ctx, log, name, kept, found[name].first <= checkpoint.Seq); err != nil {
			return err
		}
	}
	return nil
}

// past is what a partition holds of a workflow.
type past struct {
	first    uint64 // the sequence of its first record
	revision uint64 // that of the last record which follows the one before it
	bytes    int64  // how many bytes of the log it has
	broken   bool   // a record cannot be read, or does not follow the one before it
}

// chain returns the workflows of the partition.
func (v *Verification) chain(
	ctx context.Context, log eventlog.Log, partition int,
) (map[eventlog.WorkflowName]*past, error) {
	found, unnamed := map[eventlog.WorkflowName]*past{}, &past{}
	var chain eventlog.Chain
	for record, err := range log.Read(ctx, partition, 1) {
		of := unnamed
		if record.Workflow != "" {
			if of = found[record.Workflow]; of == nil {
				of = &past{first: record.Position.Seq}
				found[record.Workflow] = of
			}
			of.bytes += int64(record.Size)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			// A hole or an unreadable record is a finding; anything else means that the log does
			// not answer, and then nothing can be said about it.
			if !errors.Is(err, eventlog.ErrUnreadable) && !errors.Is(err, eventlog.ErrDamaged) {
				return nil, err
			}
			v.problem("%v", err)
			of.broken = true
		case of.broken:
		default:
			v.Transitions++
			if err := chain.Check(record); err != nil {
				v.problem("%v", err)
				of.broken = true
			} else {
				of.revision = record.Revision
			}
		}
	}
	return found, nil
}

// fold replays the workflow to the end of its log, and compares its state at the store's revision with the rows of the
// store.
func (v *Verification) fold(ctx context.Context, log eventlog.Log, name eventlog.WorkflowName, kept *store.Snapshot,
	expected bool) error {
	core, err := storedCore(kept, name)
	if err != nil {
		return err
	}
	if core == nil && kept != nil && expected {
		v.differs("workflow %s is in the log and not in the local store", name)
	}
	then, end := new(projections.State), new(projections.State)
	err = Fold(ctx, log, name, func(next *projections.State, _ int64) error {
		if end = next; core != nil && next.Head.Revision == core.Head.Revision {
			then = next
		}
		return ctx.Err()
	})
	switch {
	case errors.Is(err, projections.ErrBroken):
		v.problem("%v", err)
		return nil
	case err != nil:
		return err
	case core == nil:
		return nil
	case then.Head.Revision != core.Head.Revision:
		v.endLost(name, core.Head.Revision, end.Head.Revision)
		return nil
	}
	return v.compare(then, kept)
}

// rebuild is what to do about a store that is wrong: it is disposable.
const rebuild = "stop the engine and delete the store, it will be rebuilt from the log"

// OfLog reports whether a problem of a Verification is the log's; the others are the local store's.
func OfLog(problem string) bool { return !strings.HasSuffix(problem, rebuild) }

// storedCore returns the workflow's own row, nil when there is none.
func storedCore(kept *store.Snapshot, name eventlog.WorkflowName) (*projections.Workflow, error) {
	if kept == nil {
		return nil, nil
	}
	rows, err := kept.Get(name, []projections.Key{projections.WorkflowKey()})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	core, ok := rows[0].(*projections.Workflow)
	if !ok {
		return nil, fmt.Errorf("read workflow %s: the store answered with a %T", name, rows[0])
	}
	return core, nil
}

// compare compares every entity of the replay with its row, a few at a time: a workflow's history need not fit into
// memory twice.
func (v *Verification) compare(folded *projections.State, kept *store.Snapshot) error {
	const atOnce = 500
	for some := range slices.Chunk(folded.Keys(), atOnce) {
		entities := make([]any, len(some))
		for i, k := range some {
			entities[i] = folded.Entity(k)
		}
		rows, err := kept.Get(folded.Name, some)
		if err != nil {
			return err
		}
		replay, stored := new(projections.State).Hydrate(entities...), new(projections.State).Hydrate(rows...)
		for _, difference := range readmodel.Diff(replay, stored) {
			v.differs("workflow %s at revision %d differs between replay and local store: %s", folded.Name, folded.Head.Revision,
				difference)
		}
	}
	return nil
}

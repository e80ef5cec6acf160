package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/engine/memory"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/projections/store"
)

// pastFold is the fold of one workflow's log, which goes on in steps. The fields that Past.mu does not guard are used
// only with the turn.
type pastFold struct {
	name eventlog.WorkflowName

	// These are guarded by Past.mu.
	users   int
	dropped bool
	idle    *time.Timer

	reached atomic.Uint64 // the revision up to which the log is folded

	log    eventlog.Log
	dir    string
	stride uint64
	store  *store.Store
	memory memory.Memory
	// next and stop are those of the reading under way, nil for none; it ends with life.
	next    func() (eventlog.Record, error, bool)
	stop    func()
	life    context.Context
	endLife context.CancelFunc
	// marks are the states at every stride-th revision; the first one is the state before all records.
	marks []milestone
}

// milestone is the workflow at a revision: the state of what was not finished then, and the rows of what was.
type milestone struct {
	state *projections.State
	rows  *store.Snapshot
}

// window bounds the pending events in memory with their payloads.
var window = projections.Window{Events: 100, Bytes: 1 << 20}

// newPastFold begins the fold; dir is the folder of the store for finished runs and events, empty for memory.
func newPastFold(log eventlog.Log, dir string, stride uint64, name eventlog.WorkflowName) (*pastFold, error) {
	j := &pastFold{name: name, log: log, stride: stride}
	j.life, j.endLife = context.WithCancel(context.Background())
	kept := store.Config{InMemory: true}
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of a fold: %w", err)
		}
		var err error
		if j.dir, err = os.MkdirTemp(dir, "fold-"); err != nil {
			return nil, fmt.Errorf("make the folder of a fold: %w", err)
		}
		kept = store.Config{Dir: j.dir}
	}
	var err error
	if j.store, err = store.Open(kept); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store of a fold: %w", err), os.RemoveAll(j.dir))
	}
	j.memory.Set(new(projections.State))
	rows, err := j.store.Snapshot()
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	j.marks = []milestone{{j.memory.State(), rows}}
	return j, nil
}

func (j *pastFold) close() error {
	j.endLife()
	if j.stop != nil {
		j.stop()
	}
	for _, m := range j.marks {
		m.rows.Close()
	}
	j.marks = nil
	err := j.store.Close()
	if j.dir != "" {
		err = errors.Join(err, os.RemoveAll(j.dir))
	}
	return err
}

// milestone is the last milestone at the revision or before it.
func (j *pastFold) milestone(revision uint64) (milestone, bool) {
	n := int(revision / j.stride)
	if n >= len(j.marks) {
		return milestone{}, false
	}
	return j.marks[n], true
}

// advance folds on until ctx ends, or until the milestone before the revision is reached, and reports whether it is.
// The reading of the log stays open from step to step.
func (j *pastFold) advance(ctx context.Context, revision uint64) (arrived bool, err error) {
	for {
		if _, ok := j.milestone(revision); ok {
			return true, nil
		}
		record, ok, err := j.read()
		switch {
		case err != nil:
			return false, err
		case !ok: // the log had the revision, so its end is lost
			return false, fmt.Errorf("%w: workflow %s ends at revision %d in the log", eventlog.ErrDamaged, j.name,
				j.memory.State().Head.Revision)
		}
		s, rows, err := j.follow(j.memory.State(), record, j.store.Get)
		if err != nil {
			return false, err
		}
		j.memory.MayEvict(rows)
		j.memory.Applied(s)
		j.reached.Store(s.Head.Revision)
		if s.Head.Revision%j.stride == 0 {
			if err := j.mark(record); err != nil {
				return false, err
			}
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
	}
}

// read is the next record of the log. A reading ends where the log ended when the reading began: then another reading
// is begun, once.
func (j *pastFold) read() (record eventlog.Record, ok bool, err error) {
	for again := j.next != nil; ; again = false {
		if j.next == nil {
			j.next, j.stop = iter.Pull2(j.log.ReadWorkflow(j.life, j.name, j.memory.State().Head.Seq+1))
		}
		record, err, ok = j.next()
		if ok && err == nil {
			return record, true, nil
		}
		j.stop()
		j.next, j.stop = nil, nil
		if err != nil || !again {
			return eventlog.Record{}, false, err
		}
	}
}

// follow applies a record, with the rows that it needs, which it returns too.
func (j *pastFold) follow(s *projections.State, record eventlog.Record,
	get func(eventlog.WorkflowName, []projections.Key) ([]any, error)) (next *projections.State, read []any, err error) {
	next, err = projections.Replay(s, &record, func(keys []projections.Key) ([]any, error) {
		rows, err := get(j.name, keys)
		if err != nil {
			return nil, fmt.Errorf("read what a fold has put away: %w", err)
		}
		read = append(read, rows...)
		return rows, nil
	})
	return next, read, foldedFrom(err)
}

// mark moves finished runs and events to the store, and keeps the state as a milestone.
func (j *pastFold) mark(record eventlog.Record) error {
	state, touched := j.memory.Cut()
	err := j.store.Commit(store.Batch{
		Partition: record.Position.Partition,
		Checkpoint: store.Checkpoint{Seq: record.Position.Seq, Transition: record.ID, Hash: record.Hash,
			Identity: j.log.Identity(record.Position.Partition)},
		Changes: []store.Change{{State: state, Touched: touched}},
	})
	if err != nil {
		return fmt.Errorf("put away what a fold has finished: %w", err)
	}
	j.memory.Committed(touched)
	j.memory.Evict(window)
	rows, err := j.store.Snapshot()
	if err != nil {
		return err
	}
	j.marks = append(j.marks, milestone{j.memory.State(), rows})
	return nil
}

// look shows the workflow at the revision, which is at the last milestone or less than a stride behind it.
func (j *pastFold) look(ctx context.Context, revision uint64) (*Then, error) {
	from, _ := j.milestone(revision)
	s, at := from.state, eventlog.Instant(0)
	begin := s.Head.Seq + 1
	if s.Head.Revision == revision {
		begin = max(s.Head.Seq, 1) // the record of the milestone itself is read for its time
	}
	for record, err := range j.log.ReadWorkflow(ctx, j.name, begin) {
		if err != nil {
			return nil, err
		}
		at = record.At
		if record.Revision > s.Head.Revision {
			if s, _, err = j.follow(s, record, from.rows.Get); err != nil {
				return nil, err
			}
		}
		if s.Head.Revision == revision {
			break
		}
	}
	if s.Head.Revision != revision {
		return nil, fmt.Errorf("%w: workflow %s ends at revision %d in the log", eventlog.ErrDamaged, j.name,
			s.Head.Revision)
	}
	then := &Then{At: at, Workflow: readmodel.WorkflowOf(s), Grants: map[string]eventlog.Grant{},
		Handlers: []readmodel.Handler{}, Runs: []readmodel.Run{}}
	maps.Copy(then.Grants, s.Grants)
	for _, h := range s.Handlers() {
		then.Handlers = append(then.Handlers, readmodel.HandlerView(h, &s.Workflow, s.Definition()))
	}
	var err error
	then.Runs, err = j.runs(s, from.rows)
	return then, err
}

// runs are the newest runs of the state: those in memory, and those in the store.
func (j *pastFold) runs(s *projections.State, rows *store.Snapshot) ([]readmodel.Run, error) {
	newest := slices.Collect(maps.Values(maps.Collect(s.Runs())))
	away := 0
	for item, err := range rows.List(store.Range{Kind: projections.KindRun, Workflow: j.name, Desc: true},
		store.Position{}) {
		if err != nil {
			return nil, err
		}
		if run := item.Entity.(*projections.Run); s.Run(run.ID) == nil {
			newest = append(newest, run)
			if away++; away == recentRuns {
				break
			}
		}
	}
	slices.SortFunc(newest, func(a, b *projections.Run) int {
		return cmp.Or(cmp.Compare(b.Created.Seq, a.Created.Seq), cmp.Compare(b.Created.N, a.Created.N))
	})
	newest = newest[:min(recentRuns, len(newest))]
	views := make([]readmodel.Run, 0, len(newest))
	for _, run := range newest {
		views = append(views, readmodel.RunView(j.name, run, func(ref eventlog.EventRef) string {
			return title(s, rows, ref)
		}))
	}
	return views, nil
}

// title is an event's title, empty where it cannot be read.
func title(s *projections.State, rows *store.Snapshot, ref eventlog.EventRef) string {
	if e := s.Event(ref.Topic, ref.MessageID); e != nil {
		return e.Title
	}
	found, err := rows.Get(s.Name, []projections.Key{projections.EventKey(ref.Topic, ref.MessageID)})
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0].(*projections.TopicEvent).Title
}

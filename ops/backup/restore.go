package backup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/ids"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Into is the log that a backup is restored to: it was opened for that, and no engine runs on it.
type Into interface {
	eventlog.GroupLog
	// Installation is the name of the log: the id of the installation that was copied, with a new generation.
	Installation() string
	// Restored notes that the restore is complete.
	Restored(ctx context.Context, unknownNames bool) error
}

// Wish says how a backup is restored. Actor, At and Cause are required.
type Wish struct {
	// Actor is the person that restores it (O10).
	Actor eventlog.Actor
	At    eventlog.Instant
	Cause eventlog.Cause
	// NamesKnown says that no workflow was made after the backup. Otherwise a workflow that the backup does not know is
	// held at its first deploy: it may have existed before, and would do the same things again.
	NamesKnown bool
	// Progress is called with the number of transitions that are in the log; nil where it is not wanted.
	Progress func(done, all int)
}

// Restored is the result of a restore.
type Restored struct {
	// Paused workflows wait for a person.
	Paused []eventlog.WorkflowName `json:"paused"`
	// Archived workflows are left as they are.
	Archived    []eventlog.WorkflowName `json:"archived"`
	Transitions int                     `json:"transitions"`
	Partitions  int                     `json:"partitions"`
	// TokensRevoked counts named tokens.
	TokensRevoked int `json:"tokensRevoked"`
	// Installation is the new name.
	Installation string `json:"installation"`
}

// The bounds of a part of the backup, which is appended before the next part is read.
const (
	windowRecords = 2000
	windowBytes   = 16 << 20
)

// Restore appends a backup to an empty log, or goes on where an interrupted restore stopped. Errors: those of the
// backup and of the log; eventlog.ErrTooLarge where a transition is too large for the log. Transitions that were
// appended before an error stay.
func Restore(ctx context.Context, from *Folder, into Into, wish Wish) (Restored, error) {
	r := &restore{from: from, into: into, wish: wish, heads: map[eventlog.WorkflowName]eventlog.Head{}}
	if err := r.survey(ctx); err != nil {
		return Restored{}, err
	}
	if err := r.appendAll(ctx); err != nil {
		return Restored{}, err
	}
	result := Restored{Paused: []eventlog.WorkflowName{}, Archived: []eventlog.WorkflowName{},
		Transitions: from.Records(), Partitions: into.Partitions(), Installation: into.Installation()}
	names := slices.Sorted(from.workflows())
	if !slices.Contains(names, eventlog.Installation) {
		names = append(names, eventlog.Installation)
	}
	for _, name := range names {
		if err := r.record(ctx, name, &result); err != nil {
			return result, fmt.Errorf("record the restore of %s: %w", name, err)
		}
	}
	return result, into.Restored(ctx, !wish.NamesKnown || from.NamesLost)
}

type restore struct {
	from  *Folder
	into  Into
	wish  Wish
	heads map[eventlog.WorkflowName]eventlog.Head // in the new log
	done  int
}

// survey finds what an interrupted restore has appended.
func (r *restore) survey(ctx context.Context) error {
	for p := range r.into.Partitions() {
		var chain eventlog.Chain
		for record, err := range r.into.Read(ctx, p, 1) {
			if err == nil {
				err = chain.Check(record)
			}
			if err != nil {
				return fmt.Errorf("read what is restored already: %w", err)
			}
			r.heads[record.Workflow] = record.Head()
		}
	}
	return nil
}

// appendAll appends the records of all partitions of the backup in the order of time, so that records of different
// workflows have about the same order as before.
func (r *restore) appendAll(ctx context.Context) error {
	var window []eventlog.StoredRecord
	size := 0
	flush := func() error {
		err := r.appendWindow(ctx, window)
		r.done += len(window)
		window, size = window[:0], 0
		if err == nil && r.wish.Progress != nil {
			r.wish.Progress(r.done, r.from.Records())
		}
		return err
	}
	for record, err := range r.from.merged(ctx) {
		if err != nil {
			return err
		}
		window = append(window, record)
		if size += record.Size; len(window) == windowRecords || size >= windowBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// appendWindow appends each workflow's records in their order, and different workflows in parallel, so that the log can
// write them together.
func (r *restore) appendWindow(ctx context.Context, window []eventlog.StoredRecord) error {
	of := map[eventlog.WorkflowName][]eventlog.StoredRecord{}
	for _, record := range window {
		if record.Revision > r.heads[record.Workflow].Revision {
			of[record.Workflow] = append(of[record.Workflow], record)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu       sync.Mutex
		failures []error
		working  sync.WaitGroup
	)
	heads := maps.Clone(r.heads) // the first workflows note their new heads while the last ones are started
	for name, records := range of {
		working.Go(func() {
			head, err := appendStored(ctx, r.into, records, heads[name])
			mu.Lock()
			defer mu.Unlock()
			r.heads[name] = head
			if err != nil {
				failures = append(failures, fmt.Errorf("append the past of %s: %w", name, err))
				cancel()
			}
		})
	}
	working.Wait()
	if len(failures) > 0 {
		return failures[0] // the others follow from it, or are the same
	}
	return nil
}

// appendStored appends records of a workflow behind its head, and returns the new head.
func appendStored(ctx context.Context, into eventlog.GroupLog, records []eventlog.StoredRecord,
	head eventlog.Head) (eventlog.Head, error) {
	for len(records) > 0 {
		group := records[:min(len(records), max(into.MaxGroup(), 1))]
		entries, follows := make([]eventlog.Entry, len(group)), head
		for i, record := range group {
			e, err := eventlog.StoredEntry(record.Stored, follows)
			if err != nil {
				return head, err
			}
			if len(e.Stored) > into.MaxSize() {
				return head, fmt.Errorf("%w: revision %d has %d bytes, the log takes %d", eventlog.ErrTooLarge, record.Revision,
					len(e.Stored), into.MaxSize())
			}
			entries[i], follows = e, e.HeadAt(0)
		}
		written, err := into.AppendGroup(ctx, entries)
		if n := len(written); n > 0 {
			head, records = written[n-1].Head, records[n:]
		}
		if err != nil && !again(ctx, err) {
			return head, err
		}
	}
	return head, nil
}

// again reports whether the same records are to be appended once more, since it is not known whether they are written.
func again(ctx context.Context, err error) bool {
	return errors.Is(err, eventlog.ErrUnconfirmed) && ctx.Err() == nil && !errors.Is(err, eventlog.ErrFull) &&
		!errors.Is(err, eventlog.ErrClosed)
}

// record records that the workflow was restored, unless that is recorded already.
func (r *restore) record(ctx context.Context, name eventlog.WorkflowName, result *Restored) error {
	state := new(projections.State)
	for record, err := range r.from.ReadWorkflow(ctx, name, 1) {
		if err == nil {
			state, err = projections.Apply(state, &record)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case name == eventlog.Installation:
		result.TokensRevoked = len(state.Tokens)
	case state.Archived:
		result.Archived = append(result.Archived, name)
	default:
		result.Paused = append(result.Paused, name)
	}
	head := r.heads[name]
	if head.Revision > state.Head.Revision {
		return nil // it was recorded before the restore was interrupted
	}
	env := decide.Env{Now: r.wish.At, Policies: schedule.Default(), Standstill: decide.EngineStandstill,
		Actor: r.wish.Actor, Cause: r.wish.Cause}
	decision, err := decide.Decide(state, name, env, decide.Restore{Fact: eventlog.LogRestored{
		From: r.from.Source.String(), TakenAt: r.from.TakenAt, Generation: eventlog.GenerationOf(r.into.Installation()),
	}})
	if err != nil {
		return err
	}
	t := decision.Transition(name, env)
	t.ID = eventlog.TransitionID(ids.New(nil).Next(t.At.Time()))
	entry, err := eventlog.NewEntry(t, head)
	if err != nil {
		return err
	}
	for {
		if _, err = r.into.Append(ctx, entry); err == nil || !again(ctx, err) {
			return err
		}
	}
}

// merged yields the records of all partitions in the order of time.
func (f *Folder) merged(ctx context.Context) iter.Seq2[eventlog.StoredRecord, error] {
	return func(yield func(eventlog.StoredRecord, error) bool) {
		next := map[int]func() (eventlog.StoredRecord, error, bool){}
		first := map[int]eventlog.StoredRecord{}
		pull := func(p int) bool {
			record, err, ok := next[p]()
			switch {
			case !ok:
				delete(first, p)
			case err != nil:
				yield(record, err)
				return false
			default:
				first[p] = record
			}
			return true
		}
		for p := range f.Partitions() {
			read, stop := iter.Pull2(f.records(ctx, p))
			defer stop()
			if next[p] = read; !pull(p) {
				return
			}
		}
		for len(first) > 0 {
			oldest := slices.MinFunc(slices.Sorted(maps.Keys(first)), func(a, b int) int {
				return int(max(-1, min(1, first[a].At-first[b].At)))
			})
			if !yield(first[oldest], nil) || !pull(oldest) {
				return
			}
		}
	}
}

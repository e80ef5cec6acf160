package projections

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// Missing is the error of a fold that has looked up rows which are not in memory and of which it is not known whether
// they exist. Read them, give them to [State.HydrateAll], and fold again: the state that was folded is unchanged.
type Missing struct {
	Keys []Key
	seen map[Key]struct{} // see addKey
}

func (m *Missing) Error() string {
	return fmt.Sprintf("%s of the workflow's past must be read before the fold, the first is %c %q",
		eventlog.Count(len(m.Keys), "row"), m.Keys[0].Kind, m.Keys[0].ID)
}

// err is the error where anything is missing.
func (m *Missing) err() error {
	if m == nil || len(m.Keys) == 0 {
		return nil
	}
	return m
}

func (m *Missing) add(k Key) {
	m.Keys = addKey(m.Keys, &m.seen, k)
}

// miss notes that the fold has looked up what is not in memory. The lookups of State call it, so that no rule of the
// fold can forget to. Outside a fold, and where the whole past is in memory, missing is nil and nothing is noted.
func (s *State) miss(k Key) {
	if _, read := s.answered[k]; !read && k.ID != "" {
		s.missing.add(k)
	}
}

// ask notes what the key names, unless all of it is in memory. The fold does so before it reads a queue, which no
// lookup names.
func (s *State) ask(k Key) {
	if s.missing != nil && !s.Has(k) {
		s.miss(k)
	}
}

// Unread returns those of the keys that a fold would miss. It uses the memory of the given slice for them.
func (s *State) Unread(keys []Key) []Key {
	return slices.DeleteFunc(keys, func(k Key) bool {
		_, read := s.answered[k]
		return !s.partial || read || s.Has(k)
	})
}

// HydrateAll returns the state with the rows that were read for the keys. Those of the keys that have no row do not
// exist: until the next record and the next eviction the fold takes that for known. Of a row that was found it takes
// nothing for known once the row has left memory again.
func (s *State) HydrateAll(keys []Key, rows []any) *State {
	next := s.Hydrate(rows...)
	next.answered = maps.Clone(s.answered)
	if next.answered == nil {
		next.answered = make(map[Key]struct{}, len(keys))
	}
	for _, k := range keys {
		if !next.Has(k) {
			next.answered[k] = struct{}{}
		}
	}
	return next
}

// Rows reads those of a workflow's rows that exist.
type Rows func([]Key) ([]any, error)

// Replay is Apply on a state of which finished work was evicted: it reads what the fold misses. An error of rows does
// not wrap ErrBroken.
func Replay(s *State, r *eventlog.Record, rows Rows) (*State, error) {
	for at := s; ; {
		next, err := Apply(at, r)
		var missing *Missing
		if !errors.As(err, &missing) {
			return next, err
		}
		read, err := rows(missing.Keys)
		if err != nil {
			return s, fmt.Errorf("read what the fold of revision %d of %s misses: %w", r.Revision, r.Workflow, err)
		}
		at = at.HydrateAll(missing.Keys, read)
	}
}

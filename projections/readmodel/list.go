package readmodel

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/store"
)

// The bounds of a page.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
	// maxPage is how many bytes of payloads, parameters and results fill a page, whatever its limit: each item may
	// have some megabytes of them.
	maxPage = 4 << 20
)

// ErrBadCursor: the cursor is not one that this list gave out.
var ErrBadCursor = errors.New("cursor does not belong to this list")

// ListOptions say what a list holds. An empty filter takes everything; all that are set must
// match. A filter that means nothing to the listed kind matches nothing.
type ListOptions struct {
	// Workflow lists that workflow's; empty lists across workflows.
	Workflow eventlog.WorkflowName
	// Cursor goes on after the page that had it as Next.
	Cursor string
	// Limit is the most items on the page: 0 means DefaultLimit, more than MaxLimit means
	// MaxLimit. A page of large items may have fewer.
	Limit int
	// Desc lists the newest first.
	Desc bool
	// Status, Phase, Handler, Topic, State and Held are exact; State is that of a job, Held what an event is held for
	// or a mutation waits for.
	Status, Phase, Handler, Topic, State, Held string
	// Class is that of a run's error; Ended, where it is set, says whether the run is over.
	Class string
	Ended *bool
	// Since and Until keep what happened at Since or later, and before Until; zero for no bound. It is the start
	// of a run or a session, the publishing of an event, the end of a job or the publishing of one that is not
	// over, the request of a mutation and the arrival of an input. A workflow happens at no time.
	Since, Until eventlog.Instant
	// FromVersion and ToVersion keep what those versions of the script did, and those between them; empty for no bound.
	FromVersion, ToVersion eventlog.Version
	// Q is searched for in titles, ids and error messages, whatever the case of its letters; of a run or a mutation also
	// in the ids and titles of the events that it was about.
	Q string
	// Scan is how many entities are looked at for the page at most, 0 for any number. A page that ends there may be short
	// or empty; its Next goes on, and Reached says how far it has come.
	Scan int
}

// mark is the part of the entities among which all lie that the list holds, if there is one with an index.
func (o *ListOptions) mark(kind projections.EntityKind) store.Mark {
	switch {
	case kind == projections.KindEvent && o.State == string(projections.JobDiscarded),
		kind == projections.KindEvent && o.Status == string(eventlog.EventStatusDiscarded):
		return store.MarkAside
	case o.Held != "", kind == projections.KindEvent && o.Status == string(eventlog.EventStatusReserved),
		kind == projections.KindEvent && o.State == string(projections.JobRunning),
		kind == projections.KindMutation && o.Status != "" && !eventlog.MutationStatus(o.Status).Final():
		return store.MarkLive
	}
	return store.MarkNone
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// Next is the cursor of the next page, null on the last.
	Next *string `json:"next"`
	// Reached is the time of what was looked at last, of a page that ended because it was to look no further.
	Reached eventlog.Instant `json:"reached,omitempty"`
}

// row is one entity as the filters see it. An empty field means that the kind has none.
type row struct {
	status, phase, handler, topic, state, held, class string
	ended                                             bool
	at                                                eventlog.Instant
	text                                              []string
	// events returns the events that the entity was about; Q is searched for in their ids and titles too. It is nil if
	// the kind has none.
	events func() ([]eventlog.EventRef, error)
	// version returns the version of the script that did it; it is nil if the kind has none.
	version func() (eventlog.Version, error)
}

// fits reports whether the row is among what the list holds. The titles of events are read only if the text is found
// nowhere else.
func (o *ListOptions) fits(v *view, w eventlog.WorkflowName, r *row) (bool, error) {
	if !o.match(r) {
		return false, nil
	}
	if within, err := o.within(r); !within {
		return false, err
	}
	if o.Q == "" || o.says(r.text...) {
		return true, nil
	}
	if r.events == nil {
		return false, nil
	}
	events, err := r.events()
	if err != nil {
		return false, err
	}
	for chunk := range slices.Chunk(events, eventsAtOnce) {
		for _, e := range chunk {
			if o.says(string(e.MessageID)) {
				return true, nil
			}
		}
		titles, err := v.titles(w, chunk)
		if err != nil {
			return false, err
		}
		if o.says(slices.Collect(maps.Values(titles))...) {
			return true, nil
		}
	}
	return false, nil
}

// within reports whether the row is of a version that the list holds.
func (o *ListOptions) within(r *row) (bool, error) {
	if o.FromVersion == "" && o.ToVersion == "" {
		return true, nil
	}
	if r.version == nil {
		return false, nil
	}
	version, err := r.version()
	if err != nil || version == "" {
		return false, err
	}
	return (o.FromVersion == "" || version.Compare(o.FromVersion) >= 0) &&
		(o.ToVersion == "" || version.Compare(o.ToVersion) <= 0), nil
}

// eventsAtOnce bounds the events that are in memory while their titles are read.
const eventsAtOnce = 100

// says reports whether one of the texts has what is searched for, whatever the case of its letters.
func (o *ListOptions) says(texts ...string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), o.Q) })
}

func (o *ListOptions) match(r *row) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	if !is(o.Status, r.status) || !is(o.Phase, r.phase) || !is(o.Handler, r.handler) || !is(o.Topic, r.topic) ||
		!is(o.State, r.state) || !is(o.Held, r.held) || !is(o.Class, r.class) || o.Ended != nil && *o.Ended != r.ended {
		return false
	}
	return r.at >= o.Since && (o.Until == 0 || r.at < o.Until)
}

// large is an item that shows what may take much space: so many bytes.
type large interface{ bulk() int }

// list makes one page: it scans from the cursor on until the page is full and one more item is
// known to follow.
func list[E, V any](ctx context.Context, r *Reader, kind projections.EntityKind, o ListOptions,
	look func(*view, eventlog.WorkflowName, *E) (row, func() (V, error), error),
) (Page[V], error) {
	page := Page[V]{Items: []V{}}
	at, err := readCursor(kind, o)
	if err != nil {
		return page, err
	}
	limit := o.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, MaxLimit)
	o.Q = strings.ToLower(o.Q)
	return answer(ctx, r, func(v *view) (Page[V], error) {
		if o.Workflow != "" {
			if _, err := v.workflow(o.Workflow); err != nil {
				return page, err
			}
		}
		var end store.Position
		full, bulk, looked := false, 0, 0
		var reached eventlog.Instant
		within := store.Range{Kind: kind, Workflow: o.Workflow, Desc: o.Desc, Marked: o.mark(kind)}
		for item, err := range v.List(within, at) {
			if err != nil {
				return page, err
			}
			if err := ctx.Err(); err != nil {
				return page, err
			}
			if item.Workflow == eventlog.Installation {
				continue
			}
			if looked++; o.Scan > 0 && looked > o.Scan {
				next := writeCursor(kind, o, end)
				if page.Next = &next; !full {
					page.Reached = reached
				}
				break
			}
			row, make, err := look(v, item.Workflow, item.Entity.(*E))
			if err != nil {
				return page, err
			}
			reached = row.at
			fits, err := o.fits(v, item.Workflow, &row)
			if err != nil {
				return page, err
			}
			if !fits {
				if o.Scan > 0 && looked == o.Scan {
					end = maps.Clone(at) // a page that is full ends here too: what was passed over does not fit
				}
				continue
			}
			if full {
				next := writeCursor(kind, o, end)
				page.Next = &next
				break
			}
			shown, err := make()
			if err != nil {
				return page, err
			}
			page.Items = append(page.Items, shown)
			if l, ok := any(shown).(large); ok {
				bulk += l.bulk()
			}
			if full = len(page.Items) == limit || bulk >= maxPage; full || o.Scan > 0 && looked == o.Scan {
				end = maps.Clone(at)
			}
		}
		return page, nil
	})
}

// cursorVersion is raised when the form of cursors changes.
const cursorVersion = 1

// writeCursor names the list and how far it was read. It holds places in the log, not in the
// store, so it outlives a rebuilt store.
func writeCursor(kind projections.EntityKind, o ListOptions, at store.Position) string {
	b := cursorHead(kind, o)
	for _, p := range slices.Sorted(maps.Keys(at)) {
		b = binary.AppendUvarint(b, uint64(p))
		b = binary.AppendUvarint(b, at[p].Seq)
		b = binary.AppendUvarint(b, uint64(at[p].N))
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func cursorHead(kind projections.EntityKind, o ListOptions) []byte {
	b := []byte{cursorVersion, byte(kind), 'a'}
	if o.Desc {
		b[2] = 'd'
	}
	return append(append(b, o.Workflow...), 0)
}

func readCursor(kind projections.EntityKind, o ListOptions) (store.Position, error) {
	at := store.Position{}
	if o.Cursor == "" {
		return at, nil
	}
	bad := func(why string) (store.Position, error) {
		return nil, fmt.Errorf("%w: %s; use the value of `next` with the same path and order", ErrBadCursor, why)
	}
	b, err := base64.RawURLEncoding.DecodeString(o.Cursor)
	if err != nil {
		return bad("it is malformed")
	}
	places, ours := bytes.CutPrefix(b, cursorHead(kind, o))
	if !ours {
		return bad("it comes from another list")
	}
	for rest := places; len(rest) > 0; {
		var n [3]uint64
		for i := range n {
			value, size := binary.Uvarint(rest)
			if size <= 0 {
				return bad("it is malformed")
			}
			n[i], rest = value, rest[size:]
		}
		if n[0] > 1<<31-1 || n[2] > 1<<32-1 {
			return bad("it is malformed")
		}
		at[int(n[0])] = projections.Ordinal{Seq: n[1], N: uint32(n[2])}
	}
	return at, nil
}

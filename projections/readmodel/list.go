package readmodel

import (
	"context"
	"maps"
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

// Page is one page of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// Next is the cursor of the next page, null on the last.
	Next *string `json:"next"`
	// Reached is the time of what was looked at last, of a page that ended because it was to look no further.
	Reached eventlog.Instant `json:"reached,omitempty"`
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

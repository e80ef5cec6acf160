package backup

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// Description says what there is to copy.
type Description struct {
	Source
	TakenAt   eventlog.Instant `json:"takenAt" jsonschema:"when the copy begins"`
	NamesLost bool             `json:"namesLost" jsonschema:"whether the log may have lost workflows with their names"`
	Ends      []uint64         `json:"ends" jsonschema:"the last sequence of each partition: there the copy ends"`
}

// Stored is a transition as the log holds it.
type Stored struct {
	Seq   uint64 `json:"seq" jsonschema:"its sequence in the partition"`
	Bytes Bytes  `json:"bytes" jsonschema:"the stored bytes, in base64"`
}

// Page is a part of a partition.
type Page struct {
	Records []Stored `json:"records"`
	Next    uint64   `json:"next" jsonschema:"where the next page begins, 0 when there is none"`
}

// pageBytes is about how many bytes a page holds; a single transition may be larger.
const pageBytes = 2 << 20

// Origin is a log that can be copied page by page, in this process or through a running engine.
type Origin interface {
	Describe(ctx context.Context) (Description, error)
	// Page reads a partition from a sequence through another one.
	Page(ctx context.Context, partition int, from, through uint64) (Page, error)
}

// Opened is the Origin of a log that is open in this process.
type Opened struct {
	Log eventlog.StoredLog
	// Source is a part of the description.
	Source Source
}

// Describe implements Origin. It fails when the log cannot be asked for its end.
func (o Opened) Describe(ctx context.Context) (Description, error) {
	d := Description{Source: o.Source, TakenAt: eventlog.At(time.Now()), Ends: make([]uint64, o.Log.Partitions())}
	keeper, _ := o.Log.(eventlog.LossKeeper)
	for p := range d.Ends {
		var err error
		if d.Ends[p], err = o.Log.Last(ctx, p); err != nil {
			return d, fmt.Errorf("describe the log: %w", err)
		}
		d.NamesLost = d.NamesLost || keeper != nil && keeper.NamesLost(p)
	}
	return d, nil
}

// Page implements Origin. It fails where the log cannot be read, or is damaged, since the copy would not be whole.
func (o Opened) Page(ctx context.Context, partition int, from, through uint64) (Page, error) {
	page := Page{Records: []Stored{}}
	if partition < 0 || partition >= o.Log.Partitions() {
		return page, fmt.Errorf("%w: no partition %d, there are %d", ErrUnknownPartition, partition, o.Log.Partitions())
	}
	size := 0
	for r, err := range o.Log.ReadStored(ctx, partition, from) {
		switch {
		case err != nil:
			return page, fmt.Errorf("copy the log: %w", err)
		case r.Position.Seq > through:
			return page, nil
		case size > 0 && size+len(r.Stored) > pageBytes:
			page.Next = r.Position.Seq
			return page, nil
		}
		page.Records = append(page.Records, Stored{r.Position.Seq, r.Stored})
		size += len(r.Stored)
	}
	return page, nil
}

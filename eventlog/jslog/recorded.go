package jslog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/eventlog"
)

// SameLog implements eventlog.LossKeeper.
func (l *Log) SameLog(id string, p int) bool {
	first := identity(l.installation, p, "")
	return id == first || strings.HasPrefix(id, first+"/")
}

// Unrecorded implements eventlog.LossKeeper.
func (l *Log) Unrecorded(p int) []eventlog.Missing {
	var all []eventlog.Missing
	for _, s := range l.partitions[p].unrecorded {
		all = append(all, eventlog.Missing{From: s.from, To: s.to})
	}
	return all
}

// NamesLost implements eventlog.LossKeeper.
func (l *Log) NamesLost(p int) bool { return l.partitions[p].namesLost }

// Recorded implements eventlog.LossKeeper.
func (l *Log) Recorded(ctx context.Context, p int, namesLost bool) error {
	now := l.partitions[p].losses
	if len(now.unrecorded) == 0 && !now.endLost && (now.namesLost || !namesLost) {
		return nil
	}
	now.unrecorded, now.endLost, now.namesLost = nil, false, now.namesLost || namesLost
	return l.recordLoss(ctx, p, now, false)
}

// Restored ends the restoring: from now on the log opens as any other. With unknownNames, workflows may have existed of
// which the backup knows nothing: a name that the log does not know is held at its first deploy.
func (l *Log) Restored(ctx context.Context, unknownNames bool) error {
	for p := l.Partitions() - 1; p >= 0; p-- { // the first one says last that there is nothing left to do
		if err := l.Recorded(ctx, p, unknownNames); err != nil {
			return err
		}
		info, err := l.info(ctx, l.names.stream(p))
		if err != nil {
			return err
		}
		cfg := info.Config
		cfg.Metadata = maps.Clone(cfg.Metadata)
		delete(cfg.Metadata, metaRestoring)
		if _, err := l.js.UpdateStream(ctx, cfg); err != nil {
			return fmt.Errorf("end the restoring of %s: %w", cfg.Name, err)
		}
	}
	return nil
}

// ConfirmNames implements eventlog.LossKeeper.
func (l *Log) ConfirmNames(ctx context.Context, p int) error {
	now := l.partitions[p].losses
	if !now.namesLost {
		return nil
	}
	now.namesLost = false
	return l.recordLoss(ctx, p, now, false)
}

// recordLoss writes the losses into the stream's metadata, and the log goes by them once they are written. A new epoch
// makes every checkpoint on this partition worthless: sequences after a lost end are used again.
func (l *Log) recordLoss(ctx context.Context, p int, now losses, newEpoch bool) error {
	part := l.partitions[p]
	info, err := l.info(ctx, l.names.stream(p))
	if err != nil {
		return fmt.Errorf("record loss: %w", err)
	}
	cfg := info.Config
	cfg.MaxAge, cfg.MaxMsgs, cfg.MaxBytes, cfg.MaxMsgsPerSubject = 0, -1, -1, -1 // a log forgets nothing
	cfg.Metadata = maps.Clone(cfg.Metadata)
	now.accepted = now.accepted.within(maxLost)
	now.note(cfg.Metadata)
	id := part.identity
	if newEpoch {
		epoch, err := strconv.Atoi("0" + cfg.Metadata[metaEpoch])
		if err != nil {
			return fmt.Errorf("record loss in %s: %w", cfg.Name, err)
		}
		cfg.Metadata[metaEpoch] = strconv.Itoa(epoch + 1)
		id = identity(l.installation, p, cfg.Metadata[metaEpoch])
	}
	if _, err := l.js.UpdateStream(ctx, cfg); err != nil {
		return fmt.Errorf("record loss in %s: %w", cfg.Name, err)
	}
	part.losses, part.identity = now, id
	return nil
}

// Asides implements eventlog.LossKeeper.
func (l *Log) Asides(p int) []eventlog.Aside {
	var all []eventlog.Aside
	aside := l.partitions[p].aside
	for _, name := range slices.Sorted(maps.Keys(aside)) {
		for _, s := range aside[name] {
			all = append(all, eventlog.Aside{Workflow: name, From: s.from, To: s.to})
		}
	}
	return all
}

// SetAside implements eventlog.LossKeeper.
func (l *Log) SetAside(ctx context.Context, p int, more []eventlog.Aside) (int, error) {
	part := l.partitions[p]
	before := part.aside
	fits := func(n int) bool { return len(before.with(more[:n]).String()) <= maxAsides }
	n := len(more)
	if !fits(n) {
		n = sort.Search(len(more), func(n int) bool { return !fits(n + 1) })
	}
	tooMany := fmt.Errorf("set aside in stream %s: %w: %d of %d workflows and ranges fit into %d bytes", l.names.stream(p),
		eventlog.ErrTooLarge, n, len(more), maxAsides)
	if n == 0 && len(more) > 0 {
		return 0, tooMany
	}
	now := part.losses
	now.aside = before.with(more[:n])
	if err := l.recordLoss(ctx, p, now, true); err != nil {
		return 0, err
	}
	if n < len(more) {
		return n, tooMany
	}
	return n, nil
}

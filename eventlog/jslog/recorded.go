package jslog

import (
	"context"
	"fmt"
	"maps"
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
	part := l.partitions[p]
	namesLost = namesLost || part.namesLost
	if len(part.unrecorded) == 0 && !part.endLost && namesLost == part.namesLost {
		return nil
	}
	info, err := l.info(ctx, l.names.stream(p))
	if err != nil {
		return fmt.Errorf("end the record of a loss: %w", err)
	}
	cfg := info.Config
	cfg.Metadata = maps.Clone(cfg.Metadata)
	(&partition{namesLost: namesLost}).note(cfg.Metadata)
	if _, err := l.js.UpdateStream(ctx, cfg); err != nil {
		return fmt.Errorf("end the record of a loss in %s: %w", cfg.Name, err)
	}
	part.unrecorded, part.endLost, part.namesLost = nil, false, namesLost
	return nil
}

// note writes into a stream's metadata what is not recorded yet, and whether names are lost.
func (p *partition) note(metadata map[string]string) {
	for key, value := range map[string]string{
		metaUnrecorded: p.unrecorded.String(), metaEndLost: yes(p.endLost), metaNames: yes(p.namesLost),
	} {
		if value == "" {
			delete(metadata, key)
		} else {
			metadata[key] = value
		}
	}
}

func yes(is bool) string {
	if is {
		return "true"
	}
	return ""
}

package jslog

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

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

// ConfirmNames implements eventlog.LossKeeper.
func (l *Log) ConfirmNames(ctx context.Context, p int) error {
	now := l.partitions[p].losses
	if !now.namesLost {
		return nil
	}
	now.namesLost = false
	return l.recordLoss(ctx, p, now, false)
}

// losses are what the metadata of a partition's stream says of what is lost.
type losses struct {
	// accepted are the sequences whose loss was accepted, aside what is there and counts no more.
	accepted spans
	aside    asides
	// unrecorded are those of accepted that the workflows concerned have no record of yet; endLost says that more
	// may be lost at the end, namesLost that workflows may be lost with all their records.
	unrecorded         spans
	endLost, namesLost bool
}

// read takes it from the stream's metadata.
func (s *losses) read(stream jetstream.StreamConfig) (err error) {
	if s.accepted, err = parseSpans(stream.Metadata[metaLost]); err != nil {
		return fmt.Errorf("stream %s: %s: %w", stream.Name, metaLost, err)
	}
	if s.unrecorded, err = parseSpans(stream.Metadata[metaUnrecorded]); err != nil {
		return fmt.Errorf("stream %s: %s: %w", stream.Name, metaUnrecorded, err)
	}
	s.endLost, s.namesLost = stream.Metadata[metaEndLost] != "", stream.Metadata[metaNames] != ""
	if s.aside, err = parseAsides(stream.Metadata[metaAside]); err != nil {
		return fmt.Errorf("stream %s: %s: %w", stream.Name, metaAside, err)
	}
	return nil
}

// note writes it into a stream's metadata.
func (s *losses) note(metadata map[string]string) {
	for key, value := range map[string]string{
		metaLost: s.accepted.String(), metaAside: s.aside.String(),
		metaUnrecorded: s.unrecorded.String(), metaEndLost: yes(s.endLost), metaNames: yes(s.namesLost),
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

// recordLoss writes it into the stream's metadata, and the log goes by it once it is there. A new epoch makes every
// checkpoint on this partition worthless: sequences after a lost end are used again.
func (l *Log) recordLoss(ctx context.Context, p int, now losses, newEpoch bool) error {
	part := l.partitions[p]
	info, err := l.info(ctx, l.names.stream(p))
	if err != nil {
		return fmt.Errorf("record loss: %w", err)
	}
	cfg := info.Config
	cfg.MaxAge, cfg.MaxMsgs, cfg.MaxBytes, cfg.MaxMsgsPerSubject = 0, -1, -1, -1 // a log forgets nothing
	cfg.Metadata = maps.Clone(cfg.Metadata)
	now.accepted = now.accepted.within(mostLost)
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

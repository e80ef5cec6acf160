package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/eventlog"
)

// raiseEvery is how often an owner copies its mark to where it outlives its node.
const raiseEvery = time.Second

// keepMark copies how far the log is dealt with into the mark that all engines see, for as long as the tenure lasts.
func (p *partition) keepMark(ctx context.Context, t *tenure) {
	ticker := time.NewTicker(raiseEvery)
	defer ticker.Stop()
	raised, failing := uint64(0), false
	for t.holds() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		low := p.progress.Low
		p.mu.Unlock()
		if low.Seq <= raised {
			continue
		}
		err := t.lease.RaiseMark(ctx, lease.Mark{Log: p.engine.cfg.Log.Identity(p.number), Seq: low.Seq,
			Hash: hex.EncodeToString(low.Hash[:])})
		if err == nil {
			raised = low.Seq
		}
		if failed := err != nil && ctx.Err() == nil; failed != failing {
			if failing = failed; failing {
				p.engine.log.Warn("the mark of a partition cannot be raised; trying again", "partition", p.number, "error", err)
			}
		}
	}
}

// checkMark holds the log against the mark that the owners before have left: a log that lacks what they knew to be
// acknowledged, or holds something else there, stops the partition before anything leaves.
func (p *partition) checkMark(ctx context.Context) error {
	log := p.engine.cfg.Log
	checker, ok := log.(eventlog.PlaceChecker)
	if !ok {
		return nil
	}
	mark, err := p.engine.cfg.Leases.Mark(ctx, p.number)
	if err != nil || mark.Seq == 0 || mark.Log != log.Identity(p.number) {
		return err // another log: a person has accepted what it lacks
	}
	var hash eventlog.Hash
	if n, err := hex.Decode(hash[:], []byte(mark.Hash)); err != nil || n != len(hash) {
		return fmt.Errorf("read the mark of partition %d: its hash %q is none", p.number, mark.Hash)
	}
	err = checker.CheckPlace(ctx, p.number, mark.Seq, hash)
	if errors.Is(err, eventlog.ErrDamaged) {
		err = fmt.Errorf("node %s has noted message %d of partition %d as acknowledged: %w", mark.Node, mark.Seq, p.number,
			err)
		p.stop(err)
	}
	return err
}

package lease

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Mark is how far the log of a partition was acknowledged, kept where it outlives the node of the engine that knows it.
type Mark struct {
	// Log names the log. One that was restored, or of which a loss was accepted, has another name than before.
	Log string `json:"log"`
	// Seq is the sequence of an acknowledged record, and Hash the hexadecimal hash of its stored bytes.
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
	// Node is the node whose engine has noted the mark.
	Node string `json:"node,omitempty"`
}

// markPrefix begins the keys of the marks.
const markPrefix = "mark."

func markKey(partition int) string { return markPrefix + strconv.Itoa(partition) }

// Mark reads the mark of a partition; the zero Mark where there is none.
func (k *Keeper) Mark(ctx context.Context, partition int) (Mark, error) {
	ctx, cancel := context.WithTimeout(ctx, k.cfg.Renew)
	defer cancel()
	m, _, err := get[Mark](ctx, k.cfg.Bucket, markKey(partition))
	if err != nil {
		return Mark{}, fmt.Errorf("read the mark of partition %d: %w", partition, err)
	}
	return m, nil
}

// RaiseMark notes how far the log of the lease's partition is acknowledged. The mark of the same log is never lowered.
// An error leaves it as it is, or raised.
func (l *Lease) RaiseMark(ctx context.Context, m Mark) error {
	k := l.keeper
	ctx, cancel := context.WithTimeout(ctx, k.cfg.Renew)
	defer cancel()
	m.Node = k.cfg.Node
	for l.Holds() {
		now, revision, err := get[Mark](ctx, k.cfg.Bucket, markKey(l.partition))
		if err == nil {
			if now.Log == m.Log && now.Seq >= m.Seq {
				return nil
			}
			_, err = put(ctx, k.cfg.Bucket, markKey(l.partition), m, revision)
		}
		if !errors.Is(err, errChanged) {
			if err != nil {
				return fmt.Errorf("raise the mark of partition %d: %w", l.partition, err)
			}
			return nil
		}
	}
	return nil // the mark is the next owner's by now
}

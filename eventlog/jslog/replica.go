package jslog

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// fill moves on to seq. A consumer stands on one replica, whose copy may be damaged while the leader's is whole: where
// there are several, what the consumer has left out is read from the leader, and only what that lacks too is reported.
// False ends the reading.
func (r *reader) fill(ctx context.Context, seq uint64, yield func(eventlog.Record, error) bool) bool {
	if r.log.maxElection == 0 || r.filter != "" || seq <= r.next {
		return r.skip(seq, yield)
	}
	left := spans{{r.next, seq - 1}}.without(r.log.partitions[r.partition].accepted)
	healed := 0
	for _, s := range left {
		for at := s.from; at <= s.to; at++ {
			m, err := r.fetchOne(ctx, at)
			switch {
			case isMessageNotFound(err):
				continue // the leader lacks it too
			case err != nil:
				yield(eventlog.Record{}, fmt.Errorf("read message %d of partition %d from the leader: %w", at, r.partition, err))
				return false
			}
			if !r.skip(at, yield) {
				return false
			}
			healed++
			r.next = at + 1
			if !r.deliver(m, yield) {
				return false
			}
		}
	}
	if healed > 0 {
		r.log.cfg.Logger.Warn("a replica of the log lacks messages that its leader has, which were read from the leader; "+
			"have the replica made anew: take its server out of the stream and let it join again",
			"stream", r.log.names.stream(r.partition), "messages", healed, "before", seq)
	}
	return r.skip(seq, yield)
}

// endCompression ends the compression of streams that have several replicas: of an older version, or because an
// operator gave them more.
func (l *Log) endCompression(ctx context.Context, infos []*jetstream.StreamInfo) error {
	for _, info := range infos {
		if info.Config.Compression == jetstream.NoCompression || info.Config.Replicas == 1 || l.cfg.LookOnly {
			continue
		}
		err := l.untilReachable(ctx, func() error {
			now, err := l.info(ctx, info.Config.Name) // another program may have changed it meanwhile
			if err != nil {
				return err
			}
			now.Config.Compression = jetstream.NoCompression
			_, err = l.js.UpdateStream(ctx, now.Config)
			return err
		})
		if err != nil {
			return fmt.Errorf("end the compression of stream %s, which has several replicas: %w", info.Config.Name, err)
		}
	}
	return nil
}

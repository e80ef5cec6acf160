package jslog

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// compression is how a stream of so many replicas is compressed. With several it must not be: a server of a cluster that
// syncs every write cuts a stream off at its last snapshot when it starts, to take the rest from the log of the
// cluster once more. nats-server 2.15.2 makes another block for the time of that, and compresses the one before it in the
// background, which is the last one again by then. What is acknowledged from then on is written behind the compressed
// part as it is, and nothing of the block can be read from the disk any more: at its next start the server has lost it.
func compression(replicas int) jetstream.StoreCompression {
	if replicas > 1 {
		return jetstream.NoCompression
	}
	return jetstream.S2Compression
}

// endCompression ends the compression of streams that have several replicas: of an older version, or because an operator
// gave them more.
func (l *Log) endCompression(ctx context.Context, infos []*jetstream.StreamInfo) error {
	for _, info := range infos {
		if info.Config.Compression == jetstream.NoCompression || info.Config.Replicas == 1 || l.cfg.LookOnly {
			continue
		}
		info.Config.Compression = jetstream.NoCompression
		err := l.patiently(ctx, func() error {
			_, err := l.js.UpdateStream(ctx, info.Config)
			return err
		})
		if err != nil {
			return fmt.Errorf("end the compression of stream %s, which has several replicas: %w", info.Config.Name, err)
		}
	}
	return nil
}

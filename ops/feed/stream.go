package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// metaInstallation is the stream's metadata that names the log whose feed it is.
const metaInstallation = "pawl.installation"

// openStream finds the feed's stream, makes it where there is none, and gives it the present settings.
func (f *Feeder) openStream(ctx context.Context) (jetstream.Stream, error) {
	name := StreamName(f.cfg.Prefix)
	stream, err := f.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if f.existed {
			f.cfg.Logger.Warn("the feed's stream is gone; it is made again and filled from the beginning of the log",
				"stream", name)
		}
		if stream, err = f.js.CreateStream(ctx, f.newStream()); err != nil {
			return nil, fmt.Errorf("create stream %s: %w", name, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", name, err)
	}
	f.existed = true
	config := stream.CachedInfo().Config
	if owner := config.Metadata[metaInstallation]; owner != f.cfg.Installation {
		return nil, fmt.Errorf("stream %s is the feed of installation %q, this log is %q's; restore the log that belongs "+
			"to it, or %s", name, owner, f.cfg.Installation, f.makeAgain())
	}
	if config.MaxBytes == f.cfg.MaxBytes && config.MaxAge == 0 && config.MaxMsgs < 0 && config.MaxMsgsPerSubject < 0 {
		return stream, nil
	}
	config.MaxBytes, config.MaxAge, config.MaxMsgs, config.MaxMsgsPerSubject = f.cfg.MaxBytes, 0, -1, -1
	return f.updateStream(ctx, config)
}

// newStream describes the stream. Where the order of facts follows from the log alone, writes need not be synced:
// messages that are lost when the process is killed are published again with the same sequences.
func (f *Feeder) newStream() jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name:        StreamName(f.cfg.Prefix),
		Description: "Pawl's feed: one message for each fact of the log. It can be made again from the log.",
		Subjects:    []string{f.cfg.Prefix + ".feed.>"},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardOld,
		MaxBytes:    f.cfg.MaxBytes,
		Replicas:    f.cfg.Replicas,
		DenyDelete:  true,
		DenyPurge:   true,
		AllowDirect: f.cfg.Replicas == 1,
		// No message carries an id; JetStream rebuilds this window at every start.
		Duplicates: 100 * time.Millisecond,
		Metadata:   map[string]string{metaInstallation: f.cfg.Installation},
	}
	if f.cfg.Replicas == 1 && f.cfg.Log.Partitions() == 1 {
		c.PersistMode = jetstream.AsyncPersistMode
	}
	return c
}

func (f *Feeder) updateStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	if err := f.cfg.BeforeUpdate(c.Name); err != nil {
		return nil, fmt.Errorf("prepare the update of stream %s: %w", c.Name, err)
	}
	stream, err := f.js.UpdateStream(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("update stream %s: %w", c.Name, err)
	}
	return stream, nil
}

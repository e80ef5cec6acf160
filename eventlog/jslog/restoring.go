package jslog

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// The errors of Open that concern a restore.
var (
	// ErrRestoring: the log holds a part of a backup only, and nothing may run on it.
	ErrRestoring = errors.New("the restore of this log was not finished")
	// ErrNotEmpty: a backup is restored where no log is.
	ErrNotEmpty = errors.New("a backup is restored into an empty installation only")
)

// Restoring says that a log is made from a backup. Until [Log.Restored] it opens for that alone.
type Restoring struct {
	// Installation is the name that the log gets where it does not exist yet.
	Installation string
	// Backup identifies the backup: what one has begun, no other goes on with.
	Backup string
}

// mayRestore refuses a log that is being restored to all but its restorer, and every other log to that one.
func (l *Log) mayRestore(found map[int]*jetstream.StreamInfo) error {
	var begun string // the backup of which a part is there
	streams := 0
	for _, info := range found {
		if info == nil {
			continue
		}
		streams++
		if backup := info.Config.Metadata[metaRestoring]; backup != "" {
			begun = backup
		}
	}
	switch want := l.cfg.Restoring; {
	case want == nil && begun == "", want != nil && begun == want.Backup, want != nil && streams == 0 && l.mark == nil:
		return nil
	case want == nil:
		return fmt.Errorf("%w: a part of the backup is missing in it", ErrRestoring)
	case begun != "":
		return fmt.Errorf("%w: the log holds a part of another backup", ErrNotEmpty)
	}
	return fmt.Errorf("%w: there is a log already", ErrNotEmpty)
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

// restoring adds to the metadata of a new stream what a restore notes.
func (l *Log) restoring(metadata map[string]string) {
	if l.cfg.Restoring != nil {
		metadata[metaRestoring] = l.cfg.Restoring.Backup
	}
}

var _ eventlog.StoredLog = (*Log)(nil)

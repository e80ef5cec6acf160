package jslog

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// The errors of Open that concern a restore.
var (
	// ErrRestoring: the log holds a part of a backup only, and nothing may run on it.
	ErrRestoring = errors.New("the restore of this log was not finished")
	// ErrNotEmpty: a backup is restored only where there is no log.
	ErrNotEmpty = errors.New("a backup is restored into an empty installation only")
)

// mayRestore refuses a log that is being restored, unless it is opened to go on with that restore. To a restore it
// refuses every log that is not its own.
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

// restoring adds to the metadata of a new stream what a restore notes.
func (l *Log) restoring(metadata map[string]string) {
	if l.cfg.Restoring != nil {
		metadata[metaRestoring] = l.cfg.Restoring.Backup
	}
}

var _ eventlog.StoredLog = (*Log)(nil)

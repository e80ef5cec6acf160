package storage

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/projections/store"
)

// ExplainLog says what can be done about a log, or a store, that cannot be used.
func ExplainLog(data string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, jslog.ErrRestoring):
		hint = "repeat the pawl restore that was interrupted: it goes on where it stopped"
	case errors.Is(err, jslog.ErrNotEmpty):
		hint = "name a directory that is not there yet: --data DIR"
	case errors.Is(err, eventlog.ErrGone):
		hint = "nothing was changed; " + goneHint(data)
	case errors.Is(err, eventlog.ErrDamaged):
		hint = "copy " + data + " aside before you go on" + blocksAsTheyWere(data) +
			"; then restore it from a backup, or look at what is left: pawl verify; to go on without what is missing: " +
			"pawl verify --accept-loss"
	case errors.Is(err, eventlog.ErrNewerFormat):
		hint = "use the newer pawl that wrote it; an older one would misread it"
	case diskspace.IsFull(err):
		hint = "free space on the disk of " + data + " and start again; nothing that was acknowledged is lost"
	case errors.Is(err, store.ErrFailed):
		hint = "look at the disk of " + data +
			" and start again; nothing is lost: what the store lacks is replayed from the log"
	}
	return exit.Failed(hint, err)
}

// blocksAsTheyWere names what was kept of the log before a start changed it; empty if nothing was.
func blocksAsTheyWere(data string) string {
	kept := filepath.Join(data, "damaged")
	if _, err := os.Stat(kept); err != nil {
		return ""
	}
	return "; each block in which a record was marked as erased is in " + kept + " as it was"
}

// goneHint says what to do where nothing is left of the log.
func goneHint(data string) string {
	return "put " + filepath.Join(data, "jetstream") +
		" back from a copy or a backup, then start again: pawl serve; without it no loss can be accepted: " +
		"to begin anew, without knowing what was done, give pawl another directory: pawl serve --data DIR"
}

package storage

import (
	"os/exec"

	"github.com/pawl-run/pawl/cmd/pawl/internal/diskspace"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/store"
)

// Parts are the parts of an engine that a test replaces. The zero value stands for the real ones.
type Parts struct {
	// Observe is called with each transition, before the observer of the command.
	Observe func(eventlog.Record)
	// Connectors wraps the connectors that the engine calls.
	Connectors func(engine.Connectors) engine.Connectors
	// Worker and MailParser make the processes that run scripts and parse mails; nil is this program again.
	Worker, MailParser func() *exec.Cmd
	// FreeSpace says what may still be written to a folder's disk.
	FreeSpace func(dir string) (schedule.Size, error)
	// Store completes the configuration of the local store.
	Store func(store.Config) store.Config
}

// Free is the free space of the folder's disk.
func (p Parts) Free(dir string) (schedule.Size, error) {
	if p.FreeSpace != nil {
		return p.FreeSpace(dir)
	}
	return diskspace.Free(dir)
}

// Observer is called with each transition. It calls the test first, which may end the process there.
func (p Parts) Observer(command func(eventlog.Record)) func(eventlog.Record) {
	if p.Observe == nil {
		return command
	}
	return func(r eventlog.Record) {
		p.Observe(r)
		if command != nil {
			command(r)
		}
	}
}

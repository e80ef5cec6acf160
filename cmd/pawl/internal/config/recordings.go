package config

import (
	"maps"
	"slices"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/recording"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

// recordings are the workflows whose runs are recorded, with what is kept of each.
type recordings map[string]recordingKept

// recordingKept bounds what is kept of one workflow.
type recordingKept struct {
	Runs  *int           `yaml:"runs"`
	Bytes *schedule.Size `yaml:"bytes"`
	For   time.Duration  `yaml:"for"`
}

// These defaults bound what is kept of a workflow.
const (
	defaultRecordedRuns  = 10_000
	defaultRecordedBytes = 256 << 20
)

func (r recordings) validate(written *configText) error {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		at := written.place("recordings." + name)
		if err := eventlog.WorkflowName(name).Validate(); err != nil {
			return exit.Misconfigured("name a workflow", "%s: recordings: %v", at, err)
		}
		kept := r[name]
		if kept.Runs != nil && *kept.Runs < 1 || kept.Bytes != nil && *kept.Bytes < 1 || kept.For < 0 {
			return exit.Misconfigured("leave the workflow out to record nothing", "%s: recordings.%s keeps nothing", at, name)
		}
	}
	return nil
}

// kept is what is kept, by workflow.
func (r recordings) kept() map[eventlog.WorkflowName]recording.Keep {
	all := make(map[eventlog.WorkflowName]recording.Keep, len(r))
	for name, said := range r {
		keep := recording.Keep{Runs: defaultRecordedRuns, Bytes: defaultRecordedBytes, For: said.For}
		if said.Runs != nil {
			keep.Runs = *said.Runs
		}
		if said.Bytes != nil {
			keep.Bytes = int64(*said.Bytes)
		}
		all[eventlog.WorkflowName(name)] = keep
	}
	return all
}

package worker

import (
	"maps"
	"slices"
	"time"
)

// Report says what the workers of a pool are and do.
type Report struct {
	// Sandbox is the level of confinement: full, partial or none.
	Sandbox string `json:"sandbox"`
	// Missing are the measures that this machine lacks, with the reason.
	Missing []string `json:"missing,omitempty"`
	// Size is how many scripts may compute at once.
	Size int `json:"size"`
	// Memory is what one worker may use, in bytes.
	Memory int64 `json:"memory"`
	// Waiting is how many calls wait for a slot.
	Waiting int `json:"waiting"`
	// Restarts counts workers that ended and were replaced; Deaths those that ended in a call, by the
	// code of its error.
	Restarts uint64            `json:"restarts"`
	Deaths   map[string]uint64 `json:"deaths"`
	Workers  []ProcessReport   `json:"workers"`
}

// ProcessReport is one worker process.
type ProcessReport struct {
	PID     int    `json:"pid"`
	Sandbox string `json:"sandbox"`
	// State is idle, busy (a script computes) or reading (its script waits for a connector).
	State string `json:"state"`
	// Workflow and Handler are of the call under way.
	Workflow string `json:"workflow,omitempty"`
	Handler  string `json:"handler,omitempty"`
	// Calls is how many it has served.
	Calls uint64 `json:"calls"`
	// Memory is resident memory that is not shared, in bytes, 0 where it is not known.
	Memory int64 `json:"memory"`
	// Scripts is how many it keeps compiled.
	Scripts int       `json:"scripts"`
	Since   time.Time `json:"since"`
}

// Report describes the pool at this moment.
func (p *Pool) Report() Report {
	p.mu.Lock()
	r := Report{
		Sandbox: string(p.report.Level), Missing: slices.Clone(p.report.Missing), Size: p.config.Size,
		Memory:  p.config.Memory,
		Waiting: p.scheduler.waiting(), Restarts: p.restarts, Deaths: maps.Clone(p.deaths),
		Workers: []ProcessReport{},
	}
	var listed []*process
	for _, w := range p.all {
		worker := ProcessReport{PID: w.Cmd.Process.Pid, Sandbox: string(w.sandbox()), State: "idle",
			Calls:   w.calls.Load(),
			Scripts: w.loaded.recent.Len(), Since: w.since}
		if c := p.busy[w]; c != nil {
			worker.State = c.state()
			if c.call != nil {
				worker.Workflow, worker.Handler = c.call.Workflow, c.title()
			}
		}
		listed = append(listed, w)
		r.Workers = append(r.Workers, worker)
	}
	p.mu.Unlock()
	// Outside of the lock: the files of a busy machine take their time.
	for i, w := range listed {
		r.Workers[i].Memory, _ = memoryOf(w.Cmd.Process.Pid)
	}
	slices.SortFunc(r.Workers, func(a, b ProcessReport) int { return a.PID - b.PID })
	return r
}

func (c *exchange) state() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return "busy"
	}
	return "reading"
}

// DeathCodes are the codes with which a worker process ends in a handler call, as far as they are known beforehand.
// With limit.memory also a process ends whose call went well and left too much memory behind.
var DeathCodes = []string{"limit.cpu", "limit.memory", "limit.stack", "limit.wall", "script.cancelled", "worker.lost"}

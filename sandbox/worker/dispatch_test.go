package worker

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

// TestNear: a script is at hand where an idle process has it, and where it must be compiled in any case.
func TestNear(t *testing.T) {
	t.Parallel()
	source := sandbox.Source{Code: "1"}
	with := func(ids ...uint64) *process {
		w := &process{loaded: newLoaded()}
		for _, id := range ids {
			w.loaded.use(id, &source)
		}
		return w
	}
	busy, idle := with(1, 2), with(2, 3)
	p := &Pool{all: []*process{busy, idle}, idle: []*process{idle}}
	for id, want := range []bool{1: false, 2: true, 3: true, 4: true} {
		if id > 0 && p.near(&waiter{script: uint64(id)}) != want {
			t.Errorf("script %d is near: %t", id, !want)
		}
	}
	if !p.near(&waiter{script: 1, process: true}) {
		t.Error("a call that has its process is not near")
	}
}

// TestBusyWorkflowsFindTheirScripts: with more busy workflows than one process can keep scripts of, nearly all calls go
// where their script is. In strict turns none would, since the script that a process has just forgotten is needed next.
func TestBusyWorkflowsFindTheirScripts(t *testing.T) {
	t.Parallel()
	const processes, workflows, rounds = 3, 2 * maxLoaded, 20
	now, source, random := time.Unix(1e9, 0), sandbox.Source{Code: "1"}, rand.New(rand.NewPCG(1, 2))
	p := &Pool{scheduler: newScheduler(processes, processes)}
	p.scheduler.processes = processes // no one of them is kept for others
	for range processes {
		p.all = append(p.all, &process{loaded: newLoaded()})
	}
	p.idle = append(p.idle, p.all...)
	for i := range workflows {
		p.scheduler.join(&waiter{key: strconv.Itoa(i), script: uint64(i), since: now})
	}
	type call struct {
		*waiter
		process *process
	}
	var running []call
	calls, elsewhere := 0, 0
	for calls < rounds*workflows {
		for len(p.idle) > 0 {
			w := p.scheduler.pick(now, always, p.near)
			p.scheduler.assign(w, now)
			c := call{w, p.idleProcess(w).process}
			if calls++; calls > rounds*workflows/2 && !c.process.loaded.has(w.script) {
				elsewhere++
			}
			c.process.loaded.use(w.script, &source)
			running = append(running, c)
		}
		i := random.IntN(len(running))
		done := running[i]
		running[i] = running[len(running)-1]
		running = running[:len(running)-1]
		p.scheduler.returnSlot(done.key, 0, now)
		p.scheduler.returnProcess(done.key, 0, now)
		p.idle = append(p.idle, done.process)
		p.scheduler.join(done.waiter) // its next call
	}
	if share := float64(elsewhere) / (float64(calls) / 2); share > 0.1 {
		t.Errorf("%.0f %% of the calls went where their script was not", 100*share)
	}
}

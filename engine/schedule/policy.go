package schedule

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pawl-run/pawl/sandbox"
)

type (
	// Policies are the numbers of the rules, under `policies` in the configuration. [Default]
	// gives the usual ones; configuration is decoded over them, so what it leaves out keeps its
	// default. There is no meaning in a zero value.
	Policies struct {
		Transient Transient `yaml:"transient" json:"transient"`
		Reconcile Reconcile `yaml:"reconcile" json:"reconcile"`
		Repair    Repair    `yaml:"repair" json:"repair"`
		Wake      Wake      `yaml:"wake" json:"wake"`
		Session   Session   `yaml:"session" json:"session"`
		Storage   Storage   `yaml:"storage" json:"storage"`
		Backlog   Backlog   `yaml:"backlog" json:"backlog"`
		Held      Held      `yaml:"held" json:"held"`
		Chain     Chain     `yaml:"chain" json:"chain"`
		Script    Script    `yaml:"script" json:"script"`
	}
	// Transient spaces the retries of transient failures (F8); Max also caps a job's backoff (J2).
	Transient struct {
		Base   time.Duration `yaml:"base" json:"base"`     // delay after the first failure
		Factor float64       `yaml:"factor" json:"factor"` // growth per failure, at least 1
		Max    time.Duration `yaml:"max" json:"max"`       // longest delay
		// Retries is after how many failures in a row the workflow needs attention; 0 means the first.
		Retries int `yaml:"retries" json:"retries"`
		// Then is what it does from there on: go on trying, or wait for a person.
		Then Then `yaml:"then" json:"then"`
	}
	// Then says what follows when transient failures do not end (F8).
	Then string
	// Reconcile spaces the questions for the outcome of an uncertain mutation (F5).
	Reconcile struct {
		Base   time.Duration `yaml:"base" json:"base"`     // delay before the first scheduled question
		Factor float64       `yaml:"factor" json:"factor"` // growth per question, at least 1
		Max    time.Duration `yaml:"max" json:"max"`       // longest delay
		// Attempts is how many scheduled questions there are before the mutation is
		// indeterminate; the inline one is not counted.
		Attempts int `yaml:"attempts" json:"attempts"`
	}
	// Repair bounds automatic repairs (F9).
	Repair struct {
		// Budget is which logic failure in a row blocks the workflow, at least 1.
		Budget int `yaml:"budget" json:"budget"`
	}
	// Wake bounds wakeAt (S4).
	Wake struct {
		Min time.Duration `yaml:"min" json:"min"` // shortest wait
		Max time.Duration `yaml:"max" json:"max"` // longest wait
	}
	// Session bounds one burst of runs (S7).
	Session struct {
		MaxRuns int `yaml:"maxRuns" json:"maxRuns"` // at least 1
	}
	// Storage says how long a run waits for the log.
	Storage struct {
		// Wait is after how long an append that cannot be settled makes the run
		// paused:transient (F11). It never applies to a settlement.
		Wait time.Duration `yaml:"wait" json:"wait"`
	}
	// Backlog bounds what may wait in a workflow.
	Backlog struct {
		// Events is how many events may be pending; a push of new ones that would pass it is refused.
		// What the workflow's own scripts publish is not. At least 1.
		Events int `yaml:"events" json:"events"`
	}
	// Held bounds the events of a concurrent consumer that are held, or whose run waits for a place.
	Held struct {
		// Max: with so many of them no run of the consumer begins for another event (C3). At least 1.
		Max int `yaml:"max" json:"max"`
	}
	// Chain bounds the publications of which each was made for the one before.
	Chain struct {
		// Depth is how many of them may follow each other before a person is asked whether they are meant to go on (R20).
		// At least 1.
		Depth int `yaml:"depth" json:"depth"`
	}
	// Script limits a script and each of its handler calls; sandbox.Limits is what they become, with their defaults and
	// maxima.
	Script struct {
		CPU       time.Duration `yaml:"cpu" json:"cpu"`             // script time without reads, at most sandbox.MaxCPU
		Wall      time.Duration `yaml:"wall" json:"wall"`           // wall time without reads
		Reads     time.Duration `yaml:"reads" json:"reads"`         // sum of the durations of all reads
		Memory    Size          `yaml:"memory" json:"memory"`       // of the worker process, at least sandbox.MinMemory
		Source    Size          `yaml:"source" json:"source"`       // of the script's text
		Argument  Size          `yaml:"argument" json:"argument"`   // of what a handler is given, and of each read's answer
		Result    Size          `yaml:"result" json:"result"`       // of a returned value or a call's parameters
		State     Size          `yaml:"state" json:"state"`         // of a handler's state
		Publish   Size          `yaml:"publish" json:"publish"`     // of all events that one call publishes
		Log       Size          `yaml:"log" json:"log"`             // of what one call logs; more is cut
		HostCalls int           `yaml:"hostCalls" json:"hostCalls"` // calls of ctx, at least 1
		InFlight  int           `yaml:"inFlight" json:"inFlight"`   // connector reads at once; more wait
		Stack     int           `yaml:"stack" json:"stack"`         // nested calls, at most sandbox.MaxStack
		// Handlers and Topics bound what a workflow may declare, at its deploy: each handler can have a State, and
		// memory and checkpoint hold all of them. A version that is deployed already goes on. At least 1.
		Handlers int `yaml:"handlers" json:"handlers"`
		Topics   int `yaml:"topics" json:"topics"`
	}
)

// What follows when transient failures do not end.
const (
	Retry Then = "retry" // go on, at most transient.max apart, without end
	Hold  Then = "hold"  // hold the workflow until a person resumes it
)

// Default returns the policies of an installation that configures none.
func Default() Policies {
	return Policies{
		Transient: Transient{Base: time.Second, Factor: 2, Max: 5 * time.Minute, Retries: 5, Then: Retry},
		Reconcile: Reconcile{Base: 5 * time.Second, Factor: 2, Max: 10 * time.Minute, Attempts: 5},
		Repair:    Repair{Budget: 3},
		Wake:      Wake{Min: 30 * time.Second, Max: 24 * time.Hour},
		Session:   Session{MaxRuns: 100},
		Storage:   Storage{Wait: 10 * time.Second},
		Backlog:   Backlog{Events: 1_000_000},
		Held:      Held{Max: 1000},
		Chain:     Chain{Depth: 1000},
		Script:    defaultScript(),
	}
}

func defaultScript() Script {
	d := sandbox.DefaultLimits
	return Script{
		CPU: d.CPU, Wall: d.Wall, Reads: d.Reads, Memory: sandbox.DefaultMemory,
		Source: Size(d.Source), Argument: Size(d.Argument), Result: Size(d.Result), State: Size(d.State),
		Publish: Size(d.Publish), Log: Size(d.Log),
		HostCalls: d.HostCalls, InFlight: d.InFlight, Stack: d.Stack,
		Handlers: 100, Topics: 1000,
	}
}

// Validate reports every policy that cannot work, as [PolicyErrors].
func (p Policies) Validate() error {
	var v PolicyErrors
	v.growth("transient", p.Transient.Base, p.Transient.Factor, p.Transient.Max)
	v.atLeast("transient.retries", p.Transient.Retries, 0)
	if p.Transient.Then != Retry && p.Transient.Then != Hold {
		v.fail("transient.then", fmt.Sprintf("%q", p.Transient.Then), "must be retry or hold")
	}
	v.growth("reconcile", p.Reconcile.Base, p.Reconcile.Factor, p.Reconcile.Max)
	v.atLeast("reconcile.attempts", p.Reconcile.Attempts, 0)
	v.atLeast("repair.budget", p.Repair.Budget, 1)
	v.positive("wake.min", p.Wake.Min)
	v.positive("wake.max", p.Wake.Max)
	if p.Wake.Max < p.Wake.Min {
		v.fail("wake.max", p.Wake.Max, "must be at least wake.min, which is "+p.Wake.Min.String())
	}
	v.atLeast("session.maxRuns", p.Session.MaxRuns, 1)
	v.positive("storage.wait", p.Storage.Wait)
	v.atLeast("backlog.events", p.Backlog.Events, 1)
	v.atLeast("held.max", p.Held.Max, 1)
	v.atLeast("chain.depth", p.Chain.Depth, 1)
	v.positive("script.cpu", p.Script.CPU)
	v.positive("script.wall", p.Script.Wall)
	if p.Script.CPU > sandbox.MaxCPU {
		v.fail("script.cpu", p.Script.CPU, "must be at most "+sandbox.MaxCPU.String())
	}
	v.positive("script.reads", p.Script.Reads)
	if p.Script.Memory < sandbox.MinMemory {
		v.fail("script.memory", p.Script.Memory, "must be at least "+Size(sandbox.MinMemory).String()+", or no worker starts")
	}
	v.size("script.source", p.Script.Source)
	v.size("script.argument", p.Script.Argument)
	v.size("script.result", p.Script.Result)
	v.size("script.state", p.Script.State)
	v.size("script.publish", p.Script.Publish)
	v.size("script.log", p.Script.Log)
	v.atLeast("script.hostCalls", p.Script.HostCalls, 1)
	v.atLeast("script.inFlight", p.Script.InFlight, 1)
	v.atLeast("script.stack", p.Script.Stack, 1)
	v.atLeast("script.handlers", p.Script.Handlers, 1)
	v.atLeast("script.topics", p.Script.Topics, 1)
	if p.Script.Stack > sandbox.MaxStack {
		v.fail("script.stack", p.Script.Stack, fmt.Sprintf("must be at most %d", sandbox.MaxStack))
	}
	if len(v) == 0 {
		return nil
	}
	return v
}

// PolicyError is one policy that cannot work.
type PolicyError struct {
	// Key is where it stands in the configuration, as in policies.wake.max.
	Key   string
	Value any
	Rule  string // what the value must be
}

// Error names the key, the value and the rule.
func (e *PolicyError) Error() string { return fmt.Sprintf("%s: %v %s", e.Key, e.Value, e.Rule) }

// PolicyErrors are all that [Policies.Validate] has found.
type PolicyErrors []*PolicyError

// Error has a line for each.
func (v PolicyErrors) Error() string {
	lines := make([]string, len(v))
	for i, e := range v {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

func (v *PolicyErrors) fail(key string, value any, rule string) {
	*v = append(*v, &PolicyError{Key: "policies." + key, Value: value, Rule: rule})
}

func (v *PolicyErrors) growth(key string, base time.Duration, factor float64, longest time.Duration) {
	v.positive(key+".base", base)
	if !(factor >= 1) || math.IsInf(factor, 1) {
		v.fail(key+".factor", factor, "must be a number of at least 1")
	}
	// A maximum below the base is no mistake: it makes every delay the same.
	v.positive(key+".max", longest)
}

func (v *PolicyErrors) positive(key string, d time.Duration) {
	if d <= 0 {
		v.fail(key, d, "must be longer than zero")
	}
}

func (v *PolicyErrors) atLeast(key string, n, least int) {
	if n < least {
		v.fail(key, n, fmt.Sprintf("must be at least %d", least))
	}
}

func (v *PolicyErrors) size(key string, s Size) {
	if s <= 0 {
		v.fail(key, s, "must be more than zero bytes")
	}
}

package sandbox

import "time"

// Limits of one invocation; zero values are replaced by DefaultLimits.
type Limits struct {
	CPU time.Duration // script time, connector reads not counted; at most MaxCPU
	// Wall is script wall time, connector reads not counted; a script without a processor in it is not blamed.
	Wall   time.Duration
	Reads  time.Duration // sum of the durations of all connector reads
	Source int           // bytes
	// Argument is bytes of everything the host passes in: arguments and pending events together, and each read's
	// answer.
	Argument  int
	Result    int // bytes of a returned value or a call's parameters
	State     int // bytes of a returned handler state
	Publish   int // bytes of all publishes together, as Publish.Size counts them
	HostCalls int // ctx calls; log, now and console are bounded by Log instead
	InFlight  int // connector reads at once; more wait, which is no error
	Log       int // bytes of log output; more is cut, not an error
	Stack     int // nested calls, at most MaxStack
}

// MaxCPU is the largest Limits.CPU that is honoured; larger values are reduced to it. A regular
// expression that backtracks cannot be interrupted, it only times out, and its timeout (one for the
// process) must not be shorter than any script's deadline, or it would end as "no match".
const MaxCPU = 10 * time.Second

// MaxStack is the largest Limits.Stack that is honoured: unwinding nested native frames is quadratic,
// and deeper ones would hold a worker for seconds that nothing can interrupt.
const MaxStack = 2000

// The memory of a process that runs scripts, in bytes: what it has unless that is configured, and the least with
// which one starts.
const (
	DefaultMemory = 128 << 20
	MinMemory     = 64 << 20
)

// DefaultLimits are the limits used for every value left zero.
var DefaultLimits = Limits{
	CPU: 2 * time.Second, Wall: 30 * time.Second, Reads: 5 * time.Minute,
	Source: 256 << 10, Argument: 16 << 20, Result: 1 << 20, State: 256 << 10, Publish: 3 << 20,
	HostCalls: 1000, InFlight: 16, Log: 64 << 10, Stack: 1000,
}

// Effective fills in the defaults and the bounds of the limits.
func (l Limits) Effective() Limits {
	d := DefaultLimits
	l.CPU = min(orDefault(l.CPU, d.CPU), MaxCPU)
	l.Wall = orDefault(l.Wall, d.Wall)
	l.Reads = orDefault(l.Reads, d.Reads)
	l.Source = orDefault(l.Source, d.Source)
	l.Argument = orDefault(l.Argument, d.Argument)
	l.Result = orDefault(l.Result, d.Result)
	l.State = orDefault(l.State, d.State)
	l.Publish = orDefault(l.Publish, d.Publish)
	l.HostCalls = orDefault(l.HostCalls, d.HostCalls)
	l.InFlight = orDefault(l.InFlight, d.InFlight)
	l.Log = orDefault(l.Log, d.Log)
	l.Stack = min(orDefault(l.Stack, d.Stack), MaxStack)
	return l
}

func orDefault[T ~int | ~int64](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}

// shareDivisor: a script is to blame for a limit of the time that passes only if it had a processor for at least a
// tenth of that time. A script waits for nothing while its clock runs: where its process did not compute, it was
// stopped or the machine had no time for it.
const shareDivisor = 10

// Exceeded is the fault of a script that ran for wall and computed for cpu; nil while neither is more than its limit
// and the grace time.
func (l Limits) Exceeded(wall, cpu, grace time.Duration) *Error {
	switch {
	case wall >= l.CPU+grace && cpu >= l.CPU+grace:
		return LimitFault("limit.cpu", "the script computed for longer than %s", l.CPU)
	case wall < l.Wall+grace:
		return nil
	case cpu < wall/shareDivisor:
		return WorkerLost("the script had a processor for %s of the last %s: its process was stopped, or the machine "+
			"is too busy; nothing was sent, and it can run again",
			cpu.Round(time.Millisecond), wall.Round(time.Millisecond))
	}
	return LimitFault("limit.wall", "the script ran for longer than %s", l.Wall)
}

// LogLineCost is added to the size of each line, so that a log of empty lines ends too.
const LogLineCost = 16

// MaxLogLines is how many lines a log of this limit can have, with the one that says that it was cut.
func MaxLogLines(l Limits) int { return l.Log/LogLineCost + 2 }

package sandbox

// effective fills in the defaults and the bounds of the limits.
func (l Limits) effective() Limits {
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

package schedule

import (
	"math"
	"time"
)

// spread is how far jitter moves a delay in either direction: ± 10 % (J2).
const spread = 0.1

// Delay is how long to wait after the attempt-th transient failure in a row, counted from 1:
// Base × Factor^(attempt-1), capped by Max. Above Base and 15 s it is no longer than a quarter of what was waited
// before: the end of an outage is noticed soon after it (F8). Jitter is a random number in [0, 1): 0 shortens the
// delay by 10 %, 0.5 leaves it, 1 lengthens it by 10 %.
func (p Transient) Delay(attempt int, jitter float64) time.Duration {
	grown, delay, waited := float64(p.Base), float64(p.Base), 0.0
	for n := 1; n < attempt && delay < float64(p.Max) && p.Factor > 1; n++ {
		waited += delay
		grown *= p.Factor
		delay = min(grown, max(float64(p.Base), float64(shortWait), waited/4))
	}
	return spreadAndCap(delay, jitter, p.Max)
}

// shortWait is the longest wait after a short outage.
const shortWait = 15 * time.Second

// Delay is how long to wait before the attempt-th scheduled reconcile (F5), counted from 1:
// Base × Factor^(attempt-1), spread by jitter as in [Transient.Delay] and capped by Max.
func (p Reconcile) Delay(attempt int, jitter float64) time.Duration {
	return exponential(p.Base, p.Factor, p.Max, attempt, jitter)
}

// JobBackoff is how long a job waits after its attempt-th failed execution, counted from 1:
// attempt⁴ seconds, spread by jitter as in [Transient.Delay] and capped by longest, which is the
// policy's transient.max (J2).
func JobBackoff(attempt int, jitter float64, longest time.Duration) time.Duration {
	return spreadAndCap(math.Pow(float64(max(attempt, 1)), 4)*float64(time.Second), jitter, longest)
}

func exponential(base time.Duration, factor float64, longest time.Duration, attempt int, jitter float64) time.Duration {
	return spreadAndCap(float64(base)*math.Pow(factor, float64(max(attempt, 1)-1)), jitter, longest)
}

// spreadAndCap works on floating point until the cap: high attempts pass every integer. Jitter
// outside its range is moved into it, so that no delay can become negative.
func spreadAndCap(delay, jitter float64, longest time.Duration) time.Duration {
	if !(jitter >= 0) {
		jitter = 0
	}
	delay *= 1 - spread + 2*spread*min(jitter, 1)
	if !(delay < float64(longest)) {
		return longest
	}
	return time.Duration(delay)
}

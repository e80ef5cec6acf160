package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
)

func (s *sim) drawProfile() profile {
	rate := func(most float64) float64 {
		if s.chance(0.45) {
			return 0
		}
		return most * s.rng.Float64()
	}
	p := profile{
		crash: rate(0.05), freeze: rate(0.06), second: rate(0.04), stop: rate(0.02), full: rate(0.01), tool: rate(0.04),
		tight:  rate(0.02),
		hangUp: rate(0.2), lostAck: rate(0.2), refused: rate(0.15), slow: rate(0.3), die: rate(0.06),
		uncertain: rate(0.6), definite: rate(0.25), silent: rate(0.5), scriptFails: rate(0.2),
		operator: 0.05 + 0.2*s.rng.Float64(), honestRetry: s.rng.Float64(),
		careless: rate(1), busyCrash: rate(0.1), busy: rate(0.8), limited: 0.4, loss: rate(0.02),
		lingers: rate(1),
	}
	s.focus(&p)
	if s.concurrent {
		s.focusConcurrent(&p)
	}
	return p
}

// focusConcurrent adapts the profile of a seed with concurrent consumers to its focus.
func (s *sim) focusConcurrent(p *profile) {
	p.outage = pick(s, 0, 0.03, 0.15)
	s.slowLog = s.chance(0.4)
	switch s.cfg.Focus {
	case SideBySide:
		p.crash, p.freeze, p.second, p.stop, p.full, p.tight, p.tool, p.loss = 0.005, 0, 0, 0, 0, 0, 0, 0
		p.silent, p.uncertain, p.definite, p.scriptFails, p.operator = 0.05, 0.1, 0.2, 0.1, 0.3
	case Outages:
		p.crash, p.freeze, p.second, p.stop, p.full, p.tight, p.tool, p.loss = 0.005, 0, 0, 0, 0, 0, 0, 0
		p.silent, p.uncertain, p.definite, p.scriptFails, p.operator, p.outage = 0, 0.05, 0.1, 0.02, 0.2, 0.05
	case Doubts:
		p.crash, p.freeze, p.second, p.stop, p.full, p.tight, p.tool, p.loss = 0.005, 0, 0, 0, 0, 0, 0, 0
		p.silent, p.uncertain, p.definite, p.scriptFails, p.operator, p.outage = 0.3, 0.7, 0, 0, 0.2, 0
	}
}

func (s *sim) focus(p *profile) {
	drawn := min(Focus(1+s.rng.IntN(9)), Anything)
	if s.cfg.Focus != Drawn {
		drawn = min(s.cfg.Focus, Anything)
	}
	switch drawn {
	case LostAnswers:
		p.definite, p.silent, p.uncertain, p.honestRetry, p.careless = 0, 0.4, 0.9, 0, 1
	case LostCallers:
		p.definite, p.silent, p.uncertain, p.honestRetry, p.careless = 0, 0.2, 0.9, 0, 1
		p.busyCrash, p.operator, p.scriptFails, p.dawdles = 0.1, 0.05, 0, 0.9
	case Resubscriptions:
		p.resubscribe, p.operator = 0.2, 0.3
	case BusyReceivers:
		p.definite, p.busy, p.limited, p.scriptFails = 0.6, 0.8, 0.9, 0
	case SharedPartition:
		p.second, p.crash, p.stop, p.die, p.full, p.shared = 0.1, 0, 0, 0, 0, true
	case OpenExchanges:
		p.definite, p.silent, p.lingers, p.honestRetry, p.careless = 0, 0.9, 1, 0, 1
		p.busyCrash, p.operator, p.scriptFails, p.dawdles = 0.02, 0.1, 0, 0.9
		p.crash, p.freeze, p.second, p.stop, p.full, p.tight, p.tool, p.die, p.loss = 0, 0, 0, 0, 0, 0, 0, 0, 0
		p.lostAck, p.refused, p.slow, p.hangUp = 0, 0, 0, 0
	case Losses:
		p.loss = 0.05
	}
	if s.cfg.Focus == Sharing {
		p.loss, p.full, p.second, p.crash = 0, 0, 0.03, 0.02*s.rng.Float64()
		p.freeze, p.disturb, p.idle = 0.03, 0.08*s.rng.Float64(), 0.02+0.05*s.rng.Float64()
		p.stand = pick(s, 0, 0.3)
		if s.chance(0.4) { // calls whose engine is gone, at a receiver that is busy for long
			p.definite, p.silent, p.uncertain, p.honestRetry, p.careless = 0, 0.2, 0.9, 0, 1
			p.busyCrash, p.operator, p.scriptFails, p.dawdles = 0.1, 0.05, 0, 0.9
		}
	}
	if s.cfg.Focus == Resends {
		p.definite, p.silent, p.uncertain, p.tool, p.loss = 0.05, 0.3, 0.7, 0, 0
		p.busyCrash, p.scriptFails, p.dawdles = 0.05, 0, 0.5
	}
}

func (s *sim) drawPolicies() schedule.Policies {
	p := schedule.Default()
	p.Transient.Retries = s.rng.IntN(3)
	if s.chance(0.3) {
		p.Transient.Then = schedule.Hold
	}
	p.Reconcile.Attempts = s.rng.IntN(3)
	if s.cfg.Focus == Resends {
		p.Reconcile.Attempts += 2
	}
	p.Reconcile.Base = pick(s, p.Reconcile.Base, time.Second)
	p.Repair.Budget = 1 + s.rng.IntN(3)
	p.Session.MaxRuns = 1 + s.rng.IntN(5)
	if s.concurrent {
		p.Held.Max = pick(s, 1000, 1000, 8, 4, 2)
		p.Wake.Max = pick(s, time.Minute, 15*time.Minute)
	}
	return p
}

// drawConcurrent decides whether the seed has concurrent consumers. It draws apart from all else, so that the other
// seeds keep their histories.
func (s *sim) drawConcurrent() bool {
	switch {
	case s.cfg.Focus == Sharing:
		return s.cfg.Seed%3 == 2
	case s.cfg.Focus != Drawn:
		return s.cfg.Focus > Anything
	}
	return rand.New(rand.NewPCG(s.cfg.Seed, 0xc1)).Float64() < 0.4
}

// drawConcurrency is what a consumer of a seed with concurrency declares; nil for a plain one.
func (s *sim) drawConcurrency(p float64) *concurrency {
	if !s.chance(p) {
		return nil
	}
	return &concurrency{N: pick(s, 1, 2, 2, 3, 5), Key: pick(s, "", "k", "k", "k", "v"),
		Rate: pick(s, "", "", "", "", "1/s", "20/m")}
}

// declareConcurrency makes most consumers concurrent in a seed with concurrency.
func (s *sim) declareConcurrency(p *program) {
	if s.concurrent {
		p.X, p.Y = s.drawConcurrency(0.8), s.drawConcurrency(0.3)
	}
}

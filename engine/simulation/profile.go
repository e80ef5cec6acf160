package simulation

import (
	"time"

	"github.com/pawl-run/pawl/engine/schedule"
)

// profile is how likely what is in this seed. A seed leaves about half of the faults out: those
// that remain meet each other more often, and long undisturbed histories occur too.
type profile struct {
	crash, freeze, second, stop float64 // per move
	full, tight, hangUp, tool   float64 // per move
	busyCrash                   float64 // per move: the caller of a receiver that is busy dies
	lostAck, refused, slow, die float64 // per append
	uncertain, definite, silent float64 // per call
	scriptFails                 float64 // per invocation
	operator                    float64 // per move
	honestRetry                 float64 // per reconcile
	careless                    float64 // per reconcile of what the receiver is still busy with
	lingers                     float64 // per silent call: its connector listens on after the deadline
	busy                        float64 // per definite transient failure: it says when to come again
	dawdles                     float64 // per look at a receiver that is busy: it takes its time
	limited                     float64 // per version: it limits its jobs' attempts
	// per move: every process dies, and a person accepts that a part of the log is lost
	loss        float64
	shared      bool    // two workflows are in one partition, and engines look into what others write
	resubscribe float64 // per operator's action: a topic loses its consumer, or gets it back
	outage      float64 // per move: the target goes down, or works again
	// per move, where engines share the partitions: something happens between them; leases have time to end
	disturb, idle float64
	stand         float64 // per move while a request is about to leave: its process stands still for as long as a lease
}

// Focus is what a seed makes happen again and again, because it seldom comes together by chance.
type Focus int

// What a seed may be about; about two in nine are about nothing.
const (
	// Drawn lets the seed decide.
	Drawn Focus = iota
	// LostAnswers: few requests of a history lose their answers; here most do, at a receiver that is busy for long.
	LostAnswers
	// LostCallers: the same, and the engine that sent it dies before the receiver is done.
	LostCallers
	// Resubscriptions: between two writes to the store, events come and end while their topic loses its consumer
	// and gets it back.
	Resubscriptions
	// BusyReceivers have too much to do, and say when to come again.
	BusyReceivers
	// SharedPartition: two engines are at work on two workflows of a partition.
	SharedPartition
	// OpenExchanges: calls stay open after their deadlines, and the engine that listens may die.
	OpenExchanges
	// Losses: persons accept again and again that a part of the log is lost.
	Losses
	// Anything leaves the profile as it was drawn.
	Anything
	// SideBySide: concurrent consumers in a world in which little goes wrong but what operators do.
	SideBySide
	// Outages: their target goes down and comes back, again and again.
	Outages
	// Doubts: the outcomes of most of their calls are not known.
	Doubts
	// Resends: the receiver knows a call by its key, and most answers are lost.
	Resends
	// Sharing: the engines share the partitions by leases; they stand still, are cut off from each other, from the leases
	// or from the log, follow late, and their clocks are set.
	Sharing
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
		s.focusBeside(&p)
	}
	return p
}

// focusBeside makes of a seed with concurrent consumers what it is about.
func (s *sim) focusBeside(p *profile) {
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

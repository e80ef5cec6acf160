package jslog

import (
	"time"

	"github.com/nats-io/nats.go"
)

// singles are messages on their way one by one, in the order in which they were sent.
type singles struct {
	*committer
	first   uint64 // number of the oldest
	flights []flight
	open    int // not answered
}

// flight is one message; request is nil once its answer is known or being found out.
type flight struct {
	*request
	deadline time.Time
}

// singly publishes each of the group by itself, and what comes meanwhile too, as far as the window allows:
// the server is never without work. It returns when all have been answered, or when so many
// wait that they are sooner written as a batch.
func (c *committer) singly(group []*request) {
	s := singles{committer: c, first: c.next}
	s.launch(group)
	for rolling := true; s.open > 0; {
		select {
		case m := <-c.answers:
			s.answered(m)
		case <-c.wake:
		case <-c.timer.C:
			s.giveUp(time.Now())
		}
		if rolling {
			rolling = s.roll()
		}
	}
}

// roll sends what waits. It reports false when no more is to be sent one by one.
func (s *singles) roll() bool {
	waiting, closed := s.waiting()
	switch {
	case closed || s.inBatch(waiting):
		return false
	case waiting > 0 && s.open < s.window:
		s.launch(s.take(s.window-s.open, s.log.cfg.MaxBatchBytes))
	}
	return true
}

func (s *singles) launch(group []*request) {
	if s.open == 0 { // the timer is not set for what comes now
		s.timer.Reset(s.log.cfg.AckTimeout)
	}
	for _, r := range group {
		if r.messages() > 1 { // each of them has to wait for the one before
			s.alone = max(0, s.alone-r.messages())
			s.log.confirm(r, answer{verdict: unsent})
			s.written(r)
			continue
		}
		m := r.message()
		m.Reply = s.reply(s.next)
		s.next++
		s.alone = max(0, s.alone-1)
		s.log.counters.publishes.Add(1)
		s.flights = append(s.flights, flight{r, time.Now().Add(s.log.cfg.AckTimeout)})
		s.open++
		if err := s.log.nc.PublishMsg(m); err != nil {
			s.confirm(len(s.flights)-1, answer{verdict: lost, err: err})
		}
	}
}

// answered takes in one answer. One that was given up on is dropped: its append is being confirmed.
func (s *singles) answered(m *nats.Msg) {
	n, ok := s.number(m)
	if !ok || n < s.first || s.flights[n-s.first].request == nil {
		return
	}
	i := int(n - s.first)
	r := s.flights[i].request
	if s.log.dropped(r.entry) {
		return
	}
	a := readAnswer(m)
	if a.verdict != accepted {
		s.confirm(i, a)
		return
	}
	s.log.acknowledged(r, a.seq)
	if r.entry.Barrier && s.log.cfg.EmbeddedSync {
		s.barrier.pass(passage{r, a.seq})
	} else {
		r.succeed(a.seq, false)
	}
	s.over(i)
}

// confirm leaves what the first attempt left open to a goroutine of its own.
func (s *singles) confirm(i int, a answer) {
	s.log.confirm(s.flights[i].request, a)
	s.over(i)
}

// over forgets a flight, and the oldest ones that are over.
func (s *singles) over(i int) {
	s.written(s.flights[i].request)
	s.flights[i].request = nil
	s.open--
	for len(s.flights) > 0 && s.flights[0].request == nil {
		s.flights = s.flights[1:]
		s.first++
	}
	if s.open > 0 && i == 0 {
		s.timer.Reset(time.Until(s.flights[0].deadline))
	}
}

// giveUp stops waiting for the answers that should have come by now.
func (s *singles) giveUp(now time.Time) {
	for s.open > 0 && !now.Before(s.flights[0].deadline) {
		s.confirm(0, answer{verdict: lost, err: nats.ErrTimeout})
	}
	if s.open > 0 {
		s.timer.Reset(time.Until(s.flights[0].deadline))
	}
}

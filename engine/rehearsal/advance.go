package rehearsal

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// operate does what an operator does.
func (s *stage) operate(ctx context.Context, cmd decide.Command) error {
	return s.engine.Operate(ctx, tester, s.workflow, cmd, "test")
}

// grant grants the secrets of hooks, and what the case grants besides all that the script uses.
func (s *stage) grant(ctx context.Context, secrets []string) error {
	changes := map[string]*eventlog.Grant{}
	for _, name := range secrets {
		if allow := eventlog.GrantAllow; name != "" {
			changes[eventlog.SecretCapability(name)] = &allow
		}
	}
	for capability, grant := range s.c.Grants {
		changes[capability] = &grant
	}
	if len(changes) == 0 {
		return nil
	}
	return s.operate(ctx, decide.ChangeGrants{Changes: changes})
}

// hold keeps the workflow from running what is pushed.
func (s *stage) hold(ctx context.Context) error {
	if s.held {
		return nil
	}
	if err := s.operate(ctx, decide.Pause{}); err != nil {
		return err
	}
	s.held = true
	return nil
}

// release lets the workflow run.
func (s *stage) release(ctx context.Context) error {
	if !s.held {
		return nil
	}
	if err := s.operate(ctx, decide.Resume{}); err != nil {
		return err
	}
	s.held = false
	return nil
}

// advance moves the clock, with everything that is due on the way; where the engine dies, the next one goes on.
func (s *stage) advance(ctx context.Context, by time.Duration) error {
	until := s.clock.Now().Add(by)
	for {
		if err := s.release(ctx); err != nil {
			return err
		}
		_, err := s.engine.Advance(s.alive, until.Sub(s.clock.Now()))
		died, startErr := s.restartIfDead(ctx)
		switch {
		case startErr != nil:
			return startErr
		case died:
			continue
		}
		return err
	}
}

// runOnce lets the workflow run until the next run of the handler has ended, and holds it then.
func (s *stage) runOnce(ctx context.Context, handler eventlog.Handler) error {
	s.mu.Lock()
	s.once = handler
	s.mu.Unlock()
	if err := s.advance(ctx, 0); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.once != "" {
		s.once = ""
		return fmt.Errorf("no run of %q has ended: nothing was due for it, or it waits", handler)
	}
	s.held = true
	return nil
}

// maxTries bounds how often run waits for a further try.
const maxTries = 100

// run lets the workflow run until it is idle: pauses before further tries pass, schedules and wakeAt do not count. It
// ends too where the tries have failed so often that a person should look (F8).
func (s *stage) run(ctx context.Context) error {
	for range maxTries {
		if err := s.advance(ctx, 0); err != nil {
			return err
		}
		next, ok := s.nextTry()
		if !ok {
			return nil
		}
		if err := s.advance(ctx, next.Sub(s.clock.Now())); err != nil {
			return err
		}
	}
	return fmt.Errorf("the workflow does not come to rest: it has tried again %d times. Use advance to let a part of "+
		"the time pass", maxTries)
}

// nextTry is when work that is left goes on by itself.
func (s *stage) nextTry() (time.Time, bool) {
	var next time.Time
	state, _ := s.engine.State(s.workflow)
	for _, wait := range s.engine.Waits(s.workflow) {
		if wait.Reason.Meaning() != decide.GoesOn || wait.Until == 0 || decide.NeedsAttention(&state, wait) {
			continue
		}
		if at := wait.Until.Time(); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, !next.IsZero()
}

package smtp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Perform sends a mail once. A failure before the line that ends the mail is definite. After that line, only an
// answer of the server is.
func (c *Connector) Perform(ctx context.Context, call connector.Call) connector.Outcome {
	return c.redact.Outcome(c.perform(ctx, call))
}

func (c *Connector) perform(ctx context.Context, call connector.Call) connector.Outcome {
	if call.Operation != "send" {
		return connector.FailedWith(connector.Failf(eventlog.Internal, connector.CodeKind, "there is no smtp.%s",
			call.Operation))
	}
	m, failure := c.server.compose(call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	own, failure := c.slots.Enter(ctx, call)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	defer own.End()
	until, bounded := ctx.Deadline()
	if !bounded {
		until = time.Now().Add(defaultTimeout)
	}
	s, failure := c.server.dial(ctx, call, until)
	if failure != nil {
		return connector.FailedWith(failure)
	}
	defer s.end()
	defer context.AfterFunc(c.closed, s.line.seal)()
	defer context.AfterFunc(ctx, func() {
		// A mail that is handed over is listened to for longer; its line has a deadline of its own.
		if c.listen < 0 || !s.ending.Load() || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			s.line.seal()
			return
		}
		own.End()
	})()

	if err := s.greet(ctx); err != nil {
		return connector.FailedWith(c.failureBefore(ctx, call, s, err))
	}
	data, err := s.begin(m)
	if err != nil {
		return connector.FailedWith(c.failureBefore(ctx, call, s, err))
	}
	// This is the last check before the mail is handed over: without its last line the server must forget it. If it
	// refuses, the session sends nothing more, since any command would write that line first.
	if failure := connector.MayLeave(ctx, call); failure != nil {
		return connector.FailedWith(failure)
	}
	if err := s.line.keep(until.Add(max(c.listen, 0)), until); err != nil {
		return connector.FailedWith(c.server.notHanded(ctx, call, err))
	}
	s.ending.Store(true)
	answer, err := data.CloseWithResponse()
	if err == nil {
		s.quit(c.closed, c.farewell)
		return c.applied(m, answer.StatusText)
	}
	return c.outcomeAfter(ctx, call, s, m, err)
}

// failureBefore is why a mail was not handed over, by what the server has answered or by what became of the connection.
func (c *Connector) failureBefore(ctx context.Context, call connector.Call, s *session, err error) *eventlog.Failure {
	var reply *smtp.SMTPError
	var noLogin *noLogin
	switch {
	case errors.As(err, &reply):
		s.quit(c.closed, c.farewell)
		return c.refusal(err, reply)
	case errors.As(err, &noLogin):
		s.quit(c.closed, c.farewell)
		return connector.Failf(eventlog.Auth, "smtp.auth", "the mail server %s: %v", c.server.address, noLogin)
	}
	return c.server.notHanded(ctx, call, err)
}

// refusal is a refusal in the words of the server.
func (c *Connector) refusal(err error, reply *smtp.SMTPError) *eventlog.Failure {
	what := "the mail"
	var asked *asked
	if errors.As(err, &asked) {
		what = asked.what
	}
	return connector.Failf(classOf(reply), "smtp.refused", "the mail server %s refused %s: %s", c.server.address, what,
		c.said(reply))
}

// outcomeAfter is the outcome of a mail that was handed over and not plainly taken.
func (c *Connector) outcomeAfter(ctx context.Context, call connector.Call, s *session, m finished,
	err error) connector.Outcome {
	var reply *smtp.SMTPError
	if !errors.As(err, &reply) {
		failure := outOfTime(ctx, call, err)
		if failure == nil {
			failure = connector.Failf(eventlog.Transient, "smtp.answer", "the mail server %s has not answered: %v",
				c.server.address, connector.ClosedBy("the server", err))
		}
		failure.Message += "; the mail was handed over and may have been sent: look for the Message-ID <" + m.id + ">"
		return connector.UncertainWith(failure)
	}
	switch {
	case reply.Code >= 200 && reply.Code <= 299:
		s.quit(c.closed, c.farewell)
		return c.applied(m, reply.Message)
	case reply.Code >= 400 && reply.Code <= 599 && reply.Code != closing:
		s.quit(c.closed, c.farewell)
		return connector.FailedWith(c.refusal(err, reply))
	}
	return connector.UncertainWith(connector.Failf(eventlog.Transient, "smtp.answer", "the mail server %s answered %s; "+
		"the mail was handed over and may have been sent: look for the Message-ID <%s>", c.server.address,
		c.said(reply), m.id))
}

// applied is a mail that the server has taken.
func (c *Connector) applied(m finished, answer string) connector.Outcome {
	result, err := json.Marshal(map[string]string{"messageId": m.id, "answer": c.shown(answer)})
	if err != nil {
		result = nil // two strings always marshal; the mail is sent all the same
	}
	return connector.Outcome{Status: connector.Applied, Result: result}
}

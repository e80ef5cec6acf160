package imap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/emersion/go-imap/v2"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// maxSaid is the most bytes that are kept of what a server says.
const maxSaid = 500

// failure is the meaning of an error: a failure of our own, the end of the call's time, an answer of the server, or a
// server that cannot be reached.
func (c *Connector) failure(ctx context.Context, call connector.Call, err error) *eventlog.Failure {
	var own *eventlog.Failure
	var refused *imap.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &refused):
		return connector.Failf(classOf(err, refused), "imap.refused", "the mail server %s: %s", c.pool.server.address,
			c.shown(err.Error()))
	}
	if ended := connector.ContextFailure(ctx, call); ended != nil {
		ended.Message += fmt.Sprintf(" (mail server %s)", c.pool.server.address)
		return ended
	}
	code := "imap.connection"
	if errors.Is(err, errTooMuch) || errors.Is(err, errTooLists) || errors.Is(err, errLonger) {
		code = "imap.answer"
	}
	return connector.Failf(eventlog.Transient, code, "the mail server %s: %s", c.pool.server.address, c.shown(err.Error()))
}

// asked is an answer of the server with what it was asked for.
type asked struct {
	what string
	error
}

// Unwrap is the answer alone.
func (a *asked) Unwrap() error { return a.error }

// Error says both.
func (a *asked) Error() string { return a.what + ": " + a.error.Error() }

// classOf is the class of an answer that refuses.
func classOf(err error, refused *imap.Error) eventlog.Class {
	switch imap.ResponseCode(strings.ToUpper(string(refused.Code))) {
	case imap.ResponseCodeAuthenticationFailed, imap.ResponseCodeExpired, imap.ResponseCodePrivacyRequired:
		return eventlog.Auth
	case imap.ResponseCodeAuthorizationFailed, imap.ResponseCodeNoPerm, imap.ResponseCodeContactAdmin:
		return eventlog.Permission
	case imap.ResponseCodeUnavailable, imap.ResponseCodeInUse, imap.ResponseCodeServerBug, imap.ResponseCodeLimit,
		imap.ResponseCodeOverQuota:
		return eventlog.Transient
	case imap.ResponseCodeNonExistent:
		return eventlog.Precondition
	}
	var step *asked
	switch {
	case refused.Type == imap.StatusResponseTypeBye:
		return eventlog.Transient
	case errors.Is(err, errLogin):
		return eventlog.Auth
	case refused.Type == imap.StatusResponseTypeBad:
		return eventlog.Internal // it does not understand what it was asked
	case errors.As(err, &step): // the mailbox cannot be opened
		return eventlog.Precondition
	}
	return eventlog.Transient
}

// shown is what is kept of an answer, in one line that can be printed. Secrets are blanked out before it is cut: the
// cut could leave a part of one, which would not be recognised.
func (c *Connector) shown(text string) string {
	text, _, _ = strings.Cut(c.redact.Text(text), "\ngoroutine ") // the library adds a trace to what went wrong in it
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	return eventlog.Clip(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, text), maxSaid)
}

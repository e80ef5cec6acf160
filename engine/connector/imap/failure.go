package imap

import (
	"errors"
	"strings"

	"github.com/emersion/go-imap/v2"

	"github.com/pawl-run/pawl/eventlog"
)

// maxSaid is the most bytes that are kept of what a server says.
const maxSaid = 500

// errLogin is a login that failed, with what the server says of it.
var errLogin = errors.New("the login is refused")

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

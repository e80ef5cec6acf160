package hook

import (
	"net/http"
	"slices"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// Methods are those that a request may have.
var Methods = []string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut}

// Taken is what a verified request is: an event, or a challenge, which is answered and becomes no event.
type Taken struct {
	Event     Event
	Challenge string
	// IsChallenge says which of the two it is.
	IsChallenge bool
}

// Take verifies a request with the secret's values at the engine's time, and says what it is. It calls verified, which
// may be nil, once the request is verified, whatever comes of it then. The error is an *[Unverified] before that and an
// *[Unreadable] after it, or says that the declaration cannot be read.
func Take(h *eventlog.Hook, values []string, r *Request, now time.Time, verified func()) (Taken, error) {
	if err := Verify(h.Verify, values, r, now); err != nil {
		return Taken{}, err
	}
	if verified != nil && h.Verify.Scheme != SchemeNone {
		verified()
	}
	text, ok, err := Challenge(h, r)
	if err != nil || ok {
		return Taken{Challenge: text, IsChallenge: ok}, err
	}
	event, err := EventOf(h, r)
	return Taken{Event: event}, err
}

// Allowed reports whether a request may have the method.
func Allowed(method string) bool { return slices.Contains(Methods, method) }

package decide

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// What a person can do to the installation itself. Which role may do it is not decided here.
type (
	// CreateToken admits a caller that shows the token with this hash.
	CreateToken struct {
		Name eventlog.TokenName
		Role eventlog.TokenRole
		// Workflow, unless empty, is the only one that the token is for; it need not exist yet.
		Workflow eventlog.WorkflowName
		// Hash is the SHA-256 of the token, hex; Last4 are its last characters.
		Hash, Last4 string
	}
	// RevokeToken takes that caller's access away. The name may be given to another token then.
	RevokeToken struct{ Name eventlog.TokenName }
)

// maxTokens bounds the tokens in use: each transition of the installation rewrites their row.
const maxTokens = 1000

// hashSize is the length of a SHA-256 in hex.
const hashSize = 64

func (c CreateToken) decide(d *decision) error {
	if err := c.Name.Validate(); err != nil {
		return refuse(Invalid, "token.invalid", "%v", err).hint(hint.TokenName)
	}
	if err := c.Role.Validate(); err != nil {
		return refuse(Invalid, "token.invalid", "%v", err).hint(hint.TokenRole)
	}
	if c.Workflow != "" {
		if err := c.Workflow.Validate(); err != nil {
			return refuse(Invalid, "token.invalid", "%v", err).hint(hint.TokenForAll)
		}
	}
	if len(c.Hash) != hashSize {
		return refuse(Invalid, "token.invalid", "the hash of token %s has %d characters, want %d", c.Name, len(c.Hash),
			hashSize).
			hint(hint.TokenHash)
	}
	s := d.state()
	if _, known := s.Token(c.Name); known {
		return refuse(Conflict, "token.exists", "there is a token %s already", c.Name).
			hint(hint.TokenTaken, c.Name)
	}
	if _, known := s.TokenOf(c.Hash); known {
		return refuse(Conflict, "token.exists", "this token is in use under another name").hint(hint.TokenInUse)
	}
	if len(s.Tokens) >= maxTokens {
		return refuse(TooMany, "token.tooMany", "there are %d tokens, as many as there may be", len(s.Tokens)).
			hint(hint.RevokeUnused)
	}
	d.emitNaming(&eventlog.TokenCreated{Name: c.Name, Role: c.Role, Workflow: c.Workflow, Hash: c.Hash, Last4: c.Last4})
	return nil
}

func (c RevokeToken) decide(d *decision) error {
	if _, known := d.state().Token(c.Name); !known {
		return refuse(NotFound, "token.unknown", "there is no token %q",
			c.Name).hint(hint.Tokens)
	}
	d.emitNaming(&eventlog.TokenRevoked{Name: c.Name})
	d.closeLogins(func(l projections.Login) bool { return l.Token == c.Name })
	return nil
}

// How a browser comes to act for a user. Which role it may have is not decided here.
type (
	// OpenLogin admits a browser that shows the secret with this hash, for LoginLife.
	OpenLogin struct {
		ID       eventlog.LoginID
		Hash     string // SHA-256 of the secret, hex
		User     eventlog.Actor
		Role     eventlog.TokenRole
		Workflow eventlog.WorkflowName
		// Token, unless empty, is the named token of the user: the login ends when it is revoked.
		Token eventlog.TokenName
	}
	// CloseLogin takes that browser's access away.
	CloseLogin struct{ ID eventlog.LoginID }
)

// LoginLife is how long a login lasts.
const LoginLife = 24 * time.Hour

// maxLogins bounds the logins: each transition of the installation rewrites their row. One more closes the oldest login
// of the maker that has the most.
const maxLogins = 100

// maxLoginsEach bounds the logins of one maker, so that no maker closes the logins of others. One more closes its
// oldest.
const maxLoginsEach = 10

// loginMaker is the user for whom a login was made: a named token, or the name that was claimed with the engine's own
// token.
type loginMaker struct {
	token eventlog.TokenName
	user  eventlog.Actor
}

func makerOf(token eventlog.TokenName, user eventlog.Actor) loginMaker {
	if token != "" {
		return loginMaker{token: token}
	}
	return loginMaker{user: user}
}

func (c OpenLogin) decide(d *decision) error {
	if err := c.Role.Validate(); err != nil || c.Role == eventlog.RoleIngest {
		return refuse(Invalid, "login.invalid", "a browser acts as a viewer, an operator or an admin, not as %q", c.Role).
			hint(hint.TokenRole)
	}
	if c.ID == "" || len(c.Hash) != hashSize {
		return refuse(Invalid, "login.invalid", "the login has no id, or no SHA-256 of a secret").hint(hint.LoginAgain)
	}
	s := d.state()
	if _, open := s.Login(c.ID); open {
		return refuse(Conflict, "login.exists", "the login %s is open already", c.ID).hint(hint.LoginAgain)
	}
	if c.Token != "" {
		if _, known := s.Token(c.Token); !known {
			return refuse(NotFound, "token.unknown", "the token %s was revoked", c.Token).hint(hint.LoginAgain)
		}
	}
	d.emitNaming(&eventlog.LoginOpened{ID: c.ID, Hash: c.Hash, User: c.User, Role: c.Role, Workflow: c.Workflow,
		Token: c.Token, ExpiresAt: d.env.Now.Add(LoginLife)})
	d.closeLogins(func(l projections.Login) bool { return l.ExpiresAt <= d.env.Now })
	d.boundLogins(makerOf(c.Token, c.User))
	return nil
}

// boundLogins closes the oldest logins of the maker of a new one beyond those that it may have, and then of the maker
// that has the most, where all together are too many.
func (d *decision) boundLogins(newest loginMaker) {
	d.closeOldest(newest, d.loginsOf(newest)-maxLoginsEach)
	most, each := loginMaker{}, 0
	for _, l := range d.state().Logins {
		maker := makerOf(l.Token, l.User)
		if n := d.loginsOf(maker); n > each {
			most, each = maker, n
		}
	}
	d.closeOldest(most, len(d.state().Logins)-maxLogins)
}

func (d *decision) loginsOf(maker loginMaker) int {
	n := 0
	for _, l := range d.state().Logins {
		if makerOf(l.Token, l.User) == maker {
			n++
		}
	}
	return n
}

// closeOldest closes so many logins of the maker, the oldest first.
func (d *decision) closeOldest(maker loginMaker, n int) {
	d.closeLogins(func(l projections.Login) bool {
		if n <= 0 || makerOf(l.Token, l.User) != maker {
			return false
		}
		n--
		return true
	})
}

func (c CloseLogin) decide(d *decision) error {
	if _, open := d.state().Login(c.ID); !open {
		return refuse(NotFound, "login.unknown", "the login %s is closed already", c.ID).hint(hint.LoginAgain)
	}
	d.emitNaming(&eventlog.LoginClosed{ID: c.ID})
	return nil
}

// closeLogins closes those that are chosen.
func (d *decision) closeLogins(chosen func(projections.Login) bool) {
	for _, l := range slices.Clone(d.state().Logins) {
		if chosen(l) {
			d.emit(&eventlog.LoginClosed{ID: l.ID})
		}
	}
}

// ResumeSubscription records that a person has ended the parking of an outgoing webhook (O10). Whether it is parked is
// not known here: its position stands outside of the log.
type ResumeSubscription struct {
	Name eventlog.SubscriptionName
	// Skipped is the message that the person chose to leave undelivered; nil when it is tried again.
	Skipped *eventlog.SkippedMessage
}

func (c ResumeSubscription) decide(d *decision) error {
	if err := eventlog.ValidateConnectorName(string(c.Name)); err != nil {
		return refuse(Invalid, "subscription.invalid", "the name of the outgoing webhook %v", err).hint(hint.Subscriptions)
	}
	d.emitNaming(&eventlog.SubscriptionResumed{Name: c.Name, Skipped: c.Skipped})
	return nil
}

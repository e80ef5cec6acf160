package decide

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// How a browser comes to act for a user. Which role it may have is not decided here.
type (
	// OpenLogin admits a browser that shows the secret with this hash, for LoginLife.
	OpenLogin struct {
		ID       eventlog.LoginID
		Hash     string // SHA-256 of the secret, hex
		User     eventlog.Actor
		Role     eventlog.TokenRole
		Workflow eventlog.WorkflowName
		// Token, unless empty, is the named token of the user: the login ends with it.
		Token eventlog.TokenName
	}
	// CloseLogin lets that browser in no more.
	CloseLogin struct{ ID eventlog.LoginID }
)

// LoginLife is how long a login lasts.
const LoginLife = 24 * time.Hour

// maxLogins bounds the logins: each transition of the installation rewrites their row. One too many closes the oldest.
const maxLogins = 100

func (OpenLogin) names(*projections.State, func(projections.Key))  {}
func (CloseLogin) names(*projections.State, func(projections.Key)) {}

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
	d.lead(&eventlog.LoginOpened{ID: c.ID, Hash: c.Hash, User: c.User, Role: c.Role, Workflow: c.Workflow, Token: c.Token,
		ExpiresAt: d.env.Now.Add(LoginLife)})
	oldest := len(d.state().Logins) - maxLogins
	d.closeLogins(func(l projections.Login) bool {
		oldest--
		return l.ExpiresAt <= d.env.Now || oldest >= 0
	})
	return nil
}

func (c CloseLogin) decide(d *decision) error {
	if _, open := d.state().Login(c.ID); !open {
		return refuse(NotFound, "login.unknown", "the login %s is closed already", c.ID).hint(hint.LoginAgain)
	}
	d.lead(&eventlog.LoginClosed{ID: c.ID})
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

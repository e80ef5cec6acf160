package decide

import (
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
	// RevokeToken lets that caller in no more. The name may be given to another token then.
	RevokeToken struct{ Name eventlog.TokenName }
)

// maxTokens bounds the tokens in use: each transition of the installation rewrites their row.
const maxTokens = 1000

// hashSize is the length of a SHA-256 in hex.
const hashSize = 64

func (CreateToken) names(*projections.State, func(projections.Key)) {}
func (RevokeToken) names(*projections.State, func(projections.Key)) {}

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
	d.lead(&eventlog.TokenCreated{Name: c.Name, Role: c.Role, Workflow: c.Workflow, Hash: c.Hash, Last4: c.Last4})
	return nil
}

func (c RevokeToken) decide(d *decision) error {
	if _, known := d.state().Token(c.Name); !known {
		return refuse(NotFound, "token.unknown", "there is no token %q",
			c.Name).hint(hint.Tokens)
	}
	d.lead(&eventlog.TokenRevoked{Name: c.Name})
	d.closeLogins(func(l projections.Login) bool { return l.Token == c.Name })
	return nil
}

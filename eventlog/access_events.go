package eventlog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Installation is the aggregate of the installation itself: its history stands in the log beside those of the
// workflows. No workflow can have its name.
const Installation WorkflowName = "_pawl"

// ValidateOwner reports whether the name may own transitions of the log: it is a workflow's name, or Installation. For
// any other name the error is that of Validate.
func (n WorkflowName) ValidateOwner() error {
	if n == Installation {
		return nil
	}
	return n.Validate()
}

// OfInstallation reports whether facts of the type are of Installation only: no feed and no list shows them.
func OfInstallation(t FactType) bool {
	about, _, _ := strings.Cut(string(t), ".")
	return about == "token" || about == "login" || about == "subscription"
}

// TokenName is the name of a token, and of its user: `[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}`.
type TokenName string

var tokenNamePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$`)
})

// Validate reports whether the name is usable as a token's name: the error says which characters may stand in one.
func (n TokenName) Validate() error {
	if !tokenNamePattern().MatchString(string(n)) {
		return fmt.Errorf("token name %q must match [A-Za-z0-9][A-Za-z0-9_.@-]{0,63}", ClipName(string(n)))
	}
	return nil
}

// TokenRole is what the caller with a token may do.
type TokenRole string

// The roles of tokens.
const (
	RoleViewer   TokenRole = "viewer"   // reads
	RoleIngest   TokenRole = "ingest"   // pushes events and does nothing else
	RoleOperator TokenRole = "operator" // does both, deploys and acts on what is deployed
	RoleAdmin    TokenRole = "admin"    // also gives grants and tokens
)

// Validate reports whether the role is one of the four, and returns an error that names them for any other.
func (r TokenRole) Validate() error {
	if !slices.Contains([]TokenRole{RoleViewer, RoleIngest, RoleOperator, RoleAdmin}, r) {
		return fmt.Errorf("role %q must be viewer, ingest, operator or admin", ClipName(string(r)))
	}
	return nil
}

type (
	// TokenCreated: a caller with this token is known by its name. Only of Installation.
	TokenCreated struct {
		Name TokenName `msgpack:"name" json:"name"`
		Role TokenRole `msgpack:"role" json:"role"`
		// Workflow, unless empty, is the only one that the token is for.
		Workflow WorkflowName `msgpack:"workflow,omitempty" json:"workflow,omitempty"`
		// Hash is the SHA-256 of the token, hex. The token itself is stored nowhere.
		Hash string `msgpack:"hash" json:"-"`
		// Last4 are the token's last characters, by which a person knows it again.
		Last4 string `msgpack:"last4" json:"last4"`
	}
	// TokenRevoked: the token opens nothing any more. Only of Installation.
	TokenRevoked struct {
		Name TokenName `msgpack:"name" json:"name"`
	}
)

// FactType implements Fact.
func (*TokenCreated) FactType() FactType { return "token.created" }

// FactType implements Fact.
func (*TokenRevoked) FactType() FactType { return "token.revoked" }

type (
	// LoginOpened: a browser that shows the secret with this hash acts for the user until ExpiresAt. Only of
	// Installation.
	LoginOpened struct {
		// ID names the login. It opens nothing.
		ID LoginID `msgpack:"id" json:"id"`
		// Hash is the SHA-256 of the secret, hex. The secret itself is stored nowhere.
		Hash string    `msgpack:"hash" json:"-"`
		User Actor     `msgpack:"user" json:"user"`
		Role TokenRole `msgpack:"role" json:"role"`
		// Workflow, unless empty, is the only one that the login is for.
		Workflow WorkflowName `msgpack:"workflow,omitempty" json:"workflow,omitempty"`
		// Token is the named token that the login was opened with: the login ends when that token is revoked. Empty for
		// a login that was opened without a named token.
		Token     TokenName `msgpack:"token,omitempty" json:"token,omitempty"`
		ExpiresAt Instant   `msgpack:"expiresAt" json:"expiresAt"`
	}
	// LoginClosed: the login opens nothing any more. Only of Installation.
	LoginClosed struct {
		ID LoginID `msgpack:"id" json:"id"`
	}
)

// LoginID names a login of a browser.
type LoginID string

// FactType implements Fact.
func (*LoginOpened) FactType() FactType { return "login.opened" }

// FactType implements Fact.
func (*LoginClosed) FactType() FactType { return "login.closed" }

package eventlog

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
		// Token is the named token with which the login was asked for: it ends with it. Empty for another one.
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

package httpcall

import (
	"encoding/json"

	"github.com/pawl-run/pawl/engine/connector"
)

// look is what the parameters of a call say of where it goes and what it carries. It is not changed once made.
type look struct {
	target   target
	sendable bool // false for a call that is refused before it is sent: it has no target
	// grantHost is the target's host as grants write it, empty without a target.
	grantHost string
	// secrets are the names of the secrets that the call carries.
	secrets []string
}

// lookAt reads the parameters of a call. The caller does not change what it returns. What is kept follows from the
// parameters and the configuration alone, which does not change; whether the call may be made is asked anew each time.
func (c *Connector) lookAt(params json.RawMessage) *look {
	if kept, ok := c.looks.Get(params); ok {
		return kept
	}
	found := c.readLook(params)
	c.looks.Put(params, found)
	return found
}

// readLook reads what it can. A member of a wrong type does not keep the other one from being read; the call is refused
// for its parameters later.
func (c *Connector) readLook(params json.RawMessage) *look {
	var read struct {
		URL    string  `json:"url"`
		Secret *placed `json:"secret"`
	}
	_ = json.Unmarshal(params, &read) // it goes on behind a member of a wrong type
	found := look{secrets: read.Secret.names()}
	if t, failure := c.parseTarget(read.URL); failure == nil {
		found.target, found.sendable, found.grantHost = t, true, hostOf(t)
	}
	return &found
}

// targetOf finds where a call goes; false for one that is refused before it is sent.
func (c *Connector) targetOf(call connector.Call) (target, bool) {
	found := c.lookAt(call.Params)
	return found.target, found.sendable
}

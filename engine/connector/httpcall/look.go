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

// readLook reads each member by itself where one is wrong: a wrong url says nothing of the secrets, and the other way
// round.
func (c *Connector) readLook(params json.RawMessage) *look {
	type address struct {
		URL string `json:"url"`
	}
	type carries struct {
		Secret *placed `json:"secret"`
	}
	var read struct {
		address
		carries
	}
	whole := json.Unmarshal(params, &read) == nil
	if !whole {
		read.address, read.carries = address{}, carries{}
	}
	var found look
	if whole || json.Unmarshal(params, &read.address) == nil {
		if t, failure := c.parseTarget(read.URL); failure == nil {
			found.target, found.sendable, found.grantHost = t, true, hostOf(t)
		}
	}
	if whole || json.Unmarshal(params, &read.carries) == nil { // else the call is refused for its parameters
		found.secrets = read.Secret.names()
	}
	return &found
}

// targetOf finds where a call goes; false for one that is refused before it is sent.
func (c *Connector) targetOf(call connector.Call) (target, bool) {
	found := c.lookAt(call.Params)
	return found.target, found.sendable
}

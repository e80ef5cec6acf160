package httpcall

import (
	"encoding/json"
	"sync"

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

// looks keeps what was read lately, by the parameters: between the script and the answer, the connector is asked some
// ten questions about each call. What is kept follows from the parameters and the configuration alone, which does not
// change; whether the call may be made is asked anew each time.
//
// Locking: mu guards all of it.
type looks struct {
	mu sync.Mutex
	of map[string]*look
}

const (
	// maxLooks bounds how many looks are kept; the next one replaces them all.
	maxLooks = 512
	// maxLookedAt bounds the bytes of parameters that are kept with each look.
	maxLookedAt = 2 << 10
)

// lookAt reads the parameters of a call. The caller does not change what it returns.
func (c *Connector) lookAt(params json.RawMessage) *look {
	if len(params) > maxLookedAt {
		return c.readLook(params)
	}
	c.looks.mu.Lock()
	kept := c.looks.of[string(params)]
	c.looks.mu.Unlock()
	if kept != nil {
		return kept
	}
	found := c.readLook(params)
	c.looks.mu.Lock()
	defer c.looks.mu.Unlock()
	if len(c.looks.of) == maxLooks {
		clear(c.looks.of)
	}
	c.looks.of[string(params)] = found
	return found
}

// readLook reads each member by itself: a wrong url says nothing of the secrets, and the other way round.
func (c *Connector) readLook(params json.RawMessage) *look {
	var found look
	var address struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(params, &address) == nil {
		if t, failure := c.parseTarget(address.URL); failure == nil {
			found.target, found.sendable, found.grantHost = t, true, hostOf(t)
		}
	}
	var carries struct {
		Secret *placed `json:"secret"`
	}
	if json.Unmarshal(params, &carries) == nil { // else the call is refused for its parameters
		found.secrets = carries.Secret.names()
	}
	return &found
}

// targetOf finds where a call goes; false for one that is refused before it is sent.
func (c *Connector) targetOf(call connector.Call) (target, bool) {
	found := c.lookAt(call.Params)
	return found.target, found.sendable
}

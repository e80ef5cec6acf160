package httpcall

import (
	"encoding/json"
	"sync"
)

// look is what the parameters of a call say of where it goes and what it carries. It is not changed once made.
type look struct {
	target   target
	sendable bool // false for a call that is refused before it is sent: there is no target
	// grantHost is the target's host as grants write it, empty without a target.
	grantHost string
	// secrets are the names of the secrets that the call carries.
	secrets []string
}

// looks keeps the last looks by the parameters: on its way from the script to its answer one call is asked about ten
// times. What is kept follows from the parameters and the configuration alone, which does not change; whether the call
// may be made is asked anew each time.
//
// Locking: mu guards all of it.
type looks struct {
	mu sync.Mutex
	of map[string]*look
}

// maxLooks bounds how many are kept, and maxLookedAt the bytes of parameters that are kept with each.
const (
	maxLooks    = 512
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

func (c *Connector) readLook(params json.RawMessage) *look {
	var found look
	var address struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(params, &address) == nil {
		t, failure := c.parseTarget(address.URL)
		if found.target, found.sendable = t, failure == nil; found.sendable {
			found.grantHost = hostOf(t)
		}
	}
	var carries struct {
		Secret *placed `json:"secret"`
	}
	if json.Unmarshal(params, &carries) == nil { // a call whose parameters are no JSON is refused for them
		found.secrets = carries.Secret.names()
	}
	return &found
}

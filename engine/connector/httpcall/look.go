package httpcall

import (
	"cmp"
	"encoding/json"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// look is what the parameters of a call say, and where the call goes. It is not changed once made.
type look struct {
	params   params
	target   target
	sendable bool              // the call has a target
	refused  *eventlog.Failure // why no request can be made of the parameters, nil if one can
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
	if found.params.entries() <= maxKeptEntries {
		c.looks.Put(params, found)
	}
	return found
}

// maxKeptEntries bounds the parameters that are kept read: thousands of small members take some thirty times the memory
// of their text.
const maxKeptEntries = 200

// entries is how many members and items the parameters have.
func (p *params) entries() int {
	return len(p.Headers) + len(p.Query) + len(p.Form) + len(p.Multipart) + len(p.Expect)
}

// readLook reads what it can. A member of a wrong type does not keep the address and the secrets from being read; the
// call is refused for its parameters later.
func (c *Connector) readLook(text json.RawMessage) *look {
	found := &look{}
	if found.refused = connector.DecodeParams(text, &found.params); found.refused != nil {
		found.params = params{}
		_ = json.Unmarshal(text, &found.params) // it goes on behind a member of a wrong type
	} else {
		found.refused = found.params.oneBody()
	}
	found.secrets = found.params.Secret.names()
	t, failure := c.parseTarget(found.params.URL)
	if failure == nil {
		found.target, found.sendable, found.grantHost = t, true, hostOf(t)
	}
	found.refused = cmp.Or(found.refused, failure)
	return found
}

// targetOf finds where a call goes; false for one that is refused before it is sent.
func (c *Connector) targetOf(call connector.Call) (target, bool) {
	found := c.lookAt(call.Params)
	return found.target, found.sendable
}

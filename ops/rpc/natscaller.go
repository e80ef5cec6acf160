package rpc

import (
	"net/http"

	"github.com/nats-io/nats.go/micro"
)

// caller is the sender of a request: the caller of its token, else the NATS user.
func (n *NATSService) caller(head micro.Headers) (*Caller, *Problem) {
	caller := &Caller{Role: n.role, Key: "nats"}
	if token := head.Get(TokenHeader); token != "" {
		var p *Problem
		if caller, p = n.backend.Authenticate(token); p != nil {
			return nil, p
		} else if caller == nil {
			return nil, Problemf(http.StatusUnauthorized, "token.required", "this engine does not know the token in %s",
				TokenHeader).
				WithHint("send a token that is in use, or none to act as the NATS user")
		}
	} else if n.role == "" {
		return nil, Problemf(http.StatusUnauthorized, "token.required",
			"this engine asks for a token: this NATS server's users have no role").
			WithHint("send one in " + TokenHeader)
	}
	if caller.Actor.Verified {
		return caller, nil
	}
	var p *Problem
	caller.Actor, p = ClaimedActor(head.Get(ActorHeader))
	return caller, p
}

// most is how many bytes an answer may have.
func (n *NATSService) most() int { return int(n.conn.MaxPayload()) - natsHead }

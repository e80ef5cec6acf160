package rpc

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ChallengeHeader carries a caller's challenge to /healthz, ProofHeader the engine's answer to it (see [Proof]).
const (
	ChallengeHeader = "Pawl-Challenge"
	ProofHeader     = "Pawl-Proof"
)

// ErrNoProof says that the program that answers has not shown that it knows the token.
var ErrNoProof = errors.New("what answers there did not show that it knows the token; it may be another program, " +
	"or an engine of an older version")

// challengeLength is the length of a challenge in hexadecimal digits.
const challengeLength = 2 * sha256.Size

// Proof is what an engine with this token answers to a challenge. It shows that the engine knows the token and does
// not show the token itself. It holds for the address alone that the engine has written down beside the token: a
// program at another address that passes the challenge on to the engine gets a proof that is of no use to it. It is
// empty for anything that is not a challenge, and where there is no token or no address.
func Proof(token, address, challenge string) string {
	raw, err := hex.DecodeString(challenge)
	if token == "" || address == "" || err != nil || len(challenge) != challengeLength ||
		len(raw) != sha256.Size {
		return ""
	}
	key := sha256.Sum256([]byte(token))
	mac := hmac.New(sha256.New, key[:])
	covered := "pawl.healthz " + strings.ToLower(challenge) + " " + strings.TrimSuffix(address, "/")
	_, _ = mac.Write([]byte(covered)) // a hash never fails
	return hex.EncodeToString(mac.Sum(nil))
}

// Knows asks the engine at the client's URL to show, without sending the token, that it knows the token and that the
// URL is the one that it has written down. The error is ErrNoProof if it does not, else one of those of Do.
func (c *Client) Knows(ctx context.Context, token string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.URL, "/")+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("ask for a proof of the token: %w", err)
	}
	random := make([]byte, sha256.Size)
	_, _ = rand.Read(random) // never fails
	challenge := hex.EncodeToString(random)
	req.Header.Set(ChallengeHeader, challenge)
	plain := overHTTP{URL: c.URL, HTTP: c.HTTP}
	client := c.HTTP
	if client == nil {
		client = plainHTTP
	}
	res, err := client.Do(req)
	if err != nil {
		return plain.unreachable(ctx, err)
	}
	const most = 1 << 16
	_, _ = io.CopyN(io.Discard, res.Body, most) // so that the connection can be used again
	_ = res.Body.Close()
	if want := Proof(token, c.URL, challenge); !hmac.Equal([]byte(want), []byte(res.Header.Get(ProofHeader))) {
		return ErrNoProof
	}
	return nil
}

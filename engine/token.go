package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// TokenHash is what is kept of a token.
func TokenHash(token string) string {
	hash := sha256.Sum256([]byte(token))
	return hex.EncodeToString(hash[:])
}

// CreateToken lets a caller in under a name; it answers once that is durable. Errors: *decide.Refusal,
// ErrUnavailable.
func (e *Engine) CreateToken(ctx context.Context, actor eventlog.Actor, cmd decide.CreateToken) error {
	return e.operateInstallation(ctx, actor, cmd, "createToken")
}

// RevokeToken lets that caller in no more, from when it answers on. Errors are those of CreateToken.
func (e *Engine) RevokeToken(ctx context.Context, actor eventlog.Actor, name eventlog.TokenName) error {
	return e.operateInstallation(ctx, actor, decide.RevokeToken{Name: name}, "revokeToken")
}

func (e *Engine) operateInstallation(ctx context.Context, actor eventlog.Actor, cmd decide.Command,
	operation string) error {
	if err := e.available(ctx); err != nil {
		return err
	}
	_, err := e.decideOn(ctx, eventlog.Installation, cmd, actor, operation)
	return err
}

// Tokens lists the tokens in use. ErrUnavailable says that they are not known: the log is still being read,
// or what it holds of them cannot be followed.
func (e *Engine) Tokens() ([]projections.Token, error) {
	s, err := e.installation()
	return s.Tokens, err
}

// Token finds the token in use with the hash. Errors are those of Tokens.
func (e *Engine) Token(hash string) (projections.Token, bool, error) {
	s, err := e.installation()
	if err != nil {
		return projections.Token{}, false, err
	}
	token, ok := s.TokenOf(hash)
	return token, ok, nil
}

// installation is the state of the installation, if it is as new as the log.
func (e *Engine) installation() (projections.State, error) {
	select {
	case <-e.ready:
	default:
		return projections.State{}, fmt.Errorf("%w: it still reads its log", ErrUnavailable)
	}
	a, ok := e.workflow(eventlog.Installation)
	switch {
	case !ok:
		return projections.State{}, nil
	case a.stoppedBy() != nil:
		return projections.State{}, fmt.Errorf("%w: its tokens cannot be followed in the log: %w", ErrUnavailable,
			a.stoppedBy())
	case a.behind.Load():
		return projections.State{}, fmt.Errorf("%w: it has not read the newest of its tokens yet", ErrUnavailable)
	}
	return *a.state(), nil
}

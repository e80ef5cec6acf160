package rpc

import "errors"

// ErrUnreachable: no engine answered at the client's address, or its answer broke off.
var ErrUnreachable = errors.New("engine is not reachable")

// ErrUntrusted: something answers at the client's address, with a certificate that this machine does
// not trust.
var ErrUntrusted = errors.New("its certificate is not trusted")

// ErrTokenInClear: the client has a token, and its address is neither https nor this machine's own.
var ErrTokenInClear = errors.New("a token is sent over https only, or to this machine")

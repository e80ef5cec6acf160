package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/ops/rpc"
)

// serverKey is the key, in a request's context, of the server for its caller.
type serverKey struct{}

// HTTP offers the tools over streamable HTTP. Every request is carried out with the bearer token that it brings:
// connect makes a client of the engine with that token; test is the field Test of Engine. Requests of web pages are
// refused, and requests without a token.
func HTTP(connect func(token string) func(context.Context) (Client, error),
	test func(context.Context, TestRequest) (json.RawMessage, error), version string) http.Handler {
	// There are no sessions: a session would give the rights of its first caller to every caller that knows its id.
	stream := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		offers, _ := r.Context().Value(serverKey{}).(*mcp.Server)
		return offers
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: rpc.MaxBody})
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || token == "" {
			rpc.WriteProblem(w, rpc.Problemf(http.StatusUnauthorized, "token.missing", "this request brings no token").
				WithHint("send Authorization: Bearer TOKEN; pawl tokens create NAME --role ROLE makes one"))
			return
		}
		offers, err := New(r.Context(), Engine{Connect: connect(token), Test: test, Version: version})
		var p *rpc.Problem
		switch {
		case errors.As(err, &p):
			rpc.WriteProblem(w, p)
			return
		case err != nil:
			rpc.WriteProblem(w, rpc.Problemf(http.StatusInternalServerError, "internal", "%v", err))
			return
		}
		stream.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, offers)))
	}))
}

// ReadHeaderTimeout bounds the time for the head of a request over HTTP.
const ReadHeaderTimeout = 10 * time.Second

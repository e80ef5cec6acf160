package ops

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/eventlog"
)

// ActorHeader carries the name a caller claims, over HTTP and NATS.
const ActorHeader = "Pawl-Actor"

// maxActor bounds a claimed name, in bytes: it goes into every transition.
const maxActor = 128

// Actor kinds. What the engine does by itself is "system".
const (
	actorUser = "user"
	actorAPI  = "api"
)

// CheckListen refuses to open an engine to the network without protection: an address beyond
// loopback needs TLS and a token, unless insecure says that this is meant.
func CheckListen(addr string, tls bool, token string, insecure bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen on %q: want HOST:PORT, e.g. 127.0.0.1:7070: %w", addr, err)
	}
	if isLoopback(host) || insecure || tls && token != "" {
		return nil
	}
	var missing []string
	if !tls {
		missing = append(missing, "TLS")
	}
	if token == "" {
		missing = append(missing, "a token (PAWL_TOKEN)")
	}
	return fmt.Errorf("refusing to listen on %s: beyond loopback anyone could operate this engine without %s; configure it, listen on 127.0.0.1, or pass --insecure if the network is trusted",
		addr, strings.Join(missing, " and "))
}

// isLoopback reports whether host is a loopback name or address. An empty host means every
// interface, so it is not.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}

// hostOf cuts the port off a Host header.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}

// exposedKey marks the context of requests that came through a listener beyond loopback.
type exposedKey struct{}

func exposed(ctx context.Context, addr net.Addr) context.Context {
	if tcp, ok := addr.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return context.WithValue(ctx, exposedKey{}, true)
	}
	return ctx
}

// admit decides whether the request may be answered at all.
//
// A loopback engine needs no token, so it must be closed to web pages: a page can make a browser
// send requests here (refused as cross-origin), and it can make its own name resolve to 127.0.0.1
// and so become same-origin (refused by its Host).
func (s *Server) admit(r *http.Request, public bool) *Problem {
	if r.Context().Value(exposedKey{}) == nil && !isLoopback(hostOf(r.Host)) {
		return problemf(http.StatusForbidden, "host.forbidden", "this engine listens on loopback and does not answer to the name %q", clip(hostOf(r.Host))).
			hint("use http://127.0.0.1 or http://localhost with the engine's port")
	}
	if err := s.origins.Check(r); err != nil {
		return problemf(http.StatusForbidden, "origin.forbidden", "a web page of another origin may not use this engine").because(err).
			hint("call it from a program, such as pawl or curl, or from a server of your own; a page in a browser cannot")
	}
	if s.cfg.Token == "" || public {
		return nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// Hashed first, so that neither content nor length shows in the time this takes.
	got, want := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(s.cfg.Token))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return problemf(http.StatusUnauthorized, "token.required", "this engine asks for a token").
			hint("send Authorization: Bearer with the engine's token; pawl takes it from PAWL_TOKEN")
	}
	return nil
}

// actor names who calls: the token's name, or the name the caller claims.
func (s *Server) actor(claimed string) (eventlog.Actor, *Problem) {
	if s.cfg.Token != "" {
		return eventlog.Actor{Kind: actorUser, Name: s.cfg.TokenName, Verified: true}, nil
	}
	return claimedActor(claimed)
}

func claimedActor(name string) (eventlog.Actor, *Problem) {
	if name == "" {
		return eventlog.Actor{Kind: actorAPI, Name: "anonymous"}, nil
	}
	if err := CheckActor(name); err != nil {
		return eventlog.Actor{}, malformed("actor.invalid", "header %s: %v", ActorHeader, err).
			hint("claim a plain name, or leave the header out to be anonymous")
	}
	return eventlog.Actor{Kind: actorUser, Name: name}, nil
}

// CheckActor says what is wrong with a name that a caller claims.
func CheckActor(name string) error {
	if len(name) > maxActor {
		return fmt.Errorf("the name has %d bytes, at most %d are allowed", len(name), maxActor)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }) {
		return errors.New("the name must be UTF-8 without control characters")
	}
	return nil
}

// checkJSON asks for application/json on a body: it is the type a page cannot send across origins
// without asking first.
func checkJSON(r *http.Request) *Problem {
	given := r.Header.Get("Content-Type")
	if given == "application/json" {
		return nil
	}
	if media, _, err := mime.ParseMediaType(given); err == nil && media == "application/json" {
		return nil
	}
	return problemf(http.StatusUnsupportedMediaType, "contentType.unsupported", "a body must be application/json, this one is %q", clip(given)).
		hint("send Content-Type: application/json")
}

// clip keeps what a stranger sent short inside a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

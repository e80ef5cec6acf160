package rpc

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/eventlog"
)

// ActorHeader carries the name a caller claims, over HTTP and NATS.
const ActorHeader = "Pawl-Actor"

// maxActor bounds a claimed name, in bytes: it goes into every transition.
const maxActor = 128

// Actor kinds. The engine's own actions are "system".
const (
	ActorUser = "user"
	ActorAPI  = "api"
)

// ClaimedActor is the name that a caller claims where no token gives one.
func ClaimedActor(name string) (eventlog.Actor, *Problem) {
	if name == "" {
		return eventlog.Actor{Kind: ActorAPI, Name: "anonymous"}, nil
	}
	if err := CheckActor(name); err != nil {
		return eventlog.Actor{}, Malformed("actor.invalid", "header %s: %v", ActorHeader, err).
			WithHint("claim a plain name, or leave the header out to be anonymous")
	}
	return eventlog.Actor{Kind: ActorUser, Name: name}, nil
}

// CheckActor says what is wrong with a name that a caller claims; nil for a valid one.
func CheckActor(name string) error {
	if len(name) > maxActor {
		return fmt.Errorf("the name has %d bytes, at most %d are allowed", len(name), maxActor)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool {
		return r < 0x20 || r >= 0x7f && r <= 0x9f
	}) {
		return errors.New("the name must be UTF-8 without control characters")
	}
	return nil
}

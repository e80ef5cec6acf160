package subscription

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/outgoing"
)

// Subscription says what is delivered, and where to.
type Subscription struct {
	// Name of the subscription, which is unique among all whose positions are in the same stream.
	Name string
	// Target is the address that the messages are posted to.
	Target *outgoing.Target
	// Stream holds the messages, and Subjects chooses among them; they do not overlap.
	Stream   string
	Subjects []string
	// About says for a person what is delivered.
	About string
	// Begin are the ends of the log before this engine began, in the form of the feed: a new subscription leaves out
	// facts up to there. Empty where the stream does not hold facts of a log.
	Begin string
}

// Config of Deliveries. Conn and Subscriptions are required.
type Config struct {
	// Conn should carry little else.
	Conn *nats.Conn
	// Prefix of the positions' subjects and, in capitals, of their stream's name; empty means "pawl".
	Prefix string
	// Replicas of a new stream; 0 means 1.
	Replicas      int
	Subscriptions []Subscription
	// Holds reports whether the log holds a transition at a position; nil where the streams hold no facts of a log.
	Holds func(ctx context.Context, at eventlog.Position, id eventlog.TransitionID) (bool, error)
	// Policy says how long a message that was not delivered waits for its next attempt.
	Policy schedule.Transient
	// ParkAfter is how long attempts may fail before the subscription is parked; 0 means 24 h.
	ParkAfter time.Duration
	// Logger receives what an operator should know; nil discards it.
	Logger *slog.Logger
}

// defaultParkAfter is how long attempts may fail before a subscription is parked.
const defaultParkAfter = 24 * time.Hour

func (c Config) withDefaults() (Config, error) {
	if c.Conn == nil || len(c.Subscriptions) == 0 {
		return c, errors.New("configure subscriptions: Conn and Subscriptions are required")
	}
	seen := map[string]bool{}
	for _, s := range c.Subscriptions {
		if s.Name == "" || s.Target == nil || s.Stream == "" || len(s.Subjects) == 0 || seen[s.Name] {
			return c, fmt.Errorf("configure subscriptions: %q is not complete, or there twice", s.Name)
		}
		seen[s.Name] = true
	}
	c.Prefix = cmp.Or(c.Prefix, "pawl")
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.ParkAfter = cmp.Or(c.ParkAfter, defaultParkAfter)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// positionStream is the name of the stream that holds the positions.
func (c Config) positionStream() string { return strings.ToUpper(c.Prefix) + "_SUBSCRIPTIONS" }

// positionSubject is the subject of the position of a subscription.
func (c Config) positionSubject(name string) string { return c.Prefix + ".subscription." + name }

package feed

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// DefaultPrefix is the first token of the feed's subjects, and in capitals of its stream's name.
	DefaultPrefix = "pawl"
	// DefaultMaxBytes is how many bytes of messages are kept.
	DefaultMaxBytes = 1 << 30
	// LeastBytes is the least that may be kept: a few of the largest messages.
	LeastBytes = 8 << 20
	// DefaultMaxData bounds the data of a message: with its headers a NATS server with usual settings accepts it.
	DefaultMaxData = 1<<20 - headerRoom
	// headerRoom is what the headers of a message may take, in bytes.
	headerRoom = 8 << 10
)

// Config configures a Feeder. Log, Conn and Installation are required.
type Config struct {
	Log eventlog.Log
	// Conn should carry nothing else: the engine's writes would wait behind the feed's messages.
	Conn *nats.Conn
	// Installation names the log in the source of each event.
	Installation string
	// Prefix of subjects and, in capitals, of the stream's name; empty means DefaultPrefix.
	Prefix string
	// MaxBytes is how many bytes of messages are kept; 0 means DefaultMaxBytes.
	MaxBytes int64
	// Replicas of a new stream; 0 means 1.
	Replicas int
	// MaxData is the most bytes of JSON that a message carries; 0 means DefaultMaxData.
	MaxData int
	// DiskSpace returns an error while there is too little disk space to publish. Nil means that there is always
	// enough.
	DiskSpace func() error
	// BeforeUpdate is called right before each update of the stream's configuration, which is not made after an error.
	// Nil means that nothing is called.
	BeforeUpdate func(stream string) error
	// Publish sends a message; nil means Conn.PublishMsg. Tests replace it.
	Publish func(*nats.Msg) error
	// MissingWait is how long the feeder waits for a missing record, behind which others were observed, before it reads
	// the log; 0 means 50 ms. Idle is how often it asks for the end of the log while it observes nothing; 0 means 1 s.
	MissingWait, Idle time.Duration
	// Pause is the shortest pause after a failure, 0 means 100 ms; it grows to a hundred times that.
	Pause time.Duration
	// AckTimeout is how long the feeder waits for an acknowledgement; 0 means 5 s.
	AckTimeout time.Duration
	// Logger receives what an operator should know; nil discards it.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.Log == nil || c.Conn == nil || c.Installation == "" {
		return c, errors.New("configure feed: Log, Conn and Installation are required")
	}
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	c.MaxBytes = cmp.Or(c.MaxBytes, DefaultMaxBytes)
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.MaxData = min(cmp.Or(c.MaxData, DefaultMaxData), int(c.Conn.MaxPayload())-headerRoom)
	c.MissingWait = cmp.Or(c.MissingWait, 50*time.Millisecond)
	c.Idle = cmp.Or(c.Idle, time.Second)
	c.Pause = cmp.Or(c.Pause, 100*time.Millisecond)
	c.AckTimeout = cmp.Or(c.AckTimeout, 5*time.Second)
	if c.MaxData <= 0 {
		return c, fmt.Errorf("configure feed: the server takes messages of %d bytes only", c.Conn.MaxPayload())
	}
	if c.DiskSpace == nil {
		c.DiskSpace = func() error { return nil }
	}
	if c.BeforeUpdate == nil {
		c.BeforeUpdate = func(string) error { return nil }
	}
	if c.Publish == nil {
		c.Publish = c.Conn.PublishMsg
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// StreamName is the name of the feed's stream under a prefix; an empty prefix is the default one.
func StreamName(prefix string) string {
	return strings.ToUpper(cmp.Or(prefix, DefaultPrefix)) + "_FEED"
}

// Feeder publishes a log's facts. Observe and the figures are safe for concurrent use; Run is called once at a time.
type Feeder struct {
	cfg     Config
	js      jetstream.JetStream
	writer  writer
	backlog *backlog
	figures *figures
	existed bool // the stream was there before
	// published counts messages.
	published atomic.Uint64
}

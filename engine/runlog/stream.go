package runlog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// Config of a Stream. The zero value is usable.
type Config struct {
	// Prefix of subjects and, in capitals, of the stream's name; empty means "pawl".
	Prefix string
	// Replicas of a new stream; 0 means 1. A single one is flushed by the server in its own
	// time: these lines are worth no sync of their own.
	Replicas int
	// MaxBytes and MaxAge bound what is kept; 0 means 256 MiB and 7 days.
	MaxBytes int64
	MaxAge   time.Duration
}

// Line is one line of a run.
type Line struct {
	At    time.Time `json:"at"`
	Level string    `json:"level"`
	Text  string    `json:"text"`
	// Line is that of the script, 0 where it is not known.
	Line int `json:"line,omitempty"`
}

// Stream is the stream of all runs' lines. It is safe for concurrent use.
type Stream struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	prefix string
	lost   atomic.Uint64
}

// maxPending bounds messages on their way to the broker.
const maxPending = 1024

const defaultPrefix = "pawl"

// StreamName is the name of the stream under a prefix; empty is the default one.
func StreamName(prefix string) string {
	return strings.ToUpper(cmp.Or(prefix, defaultPrefix)) + "_RUNLOG"
}

// Open makes or finds the stream. It fails when the broker does not answer or refuses the stream.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Stream, error) {
	if cfg.Prefix == "" {
		cfg.Prefix = defaultPrefix
	}
	s := &Stream{prefix: cfg.Prefix + ".runlog."}
	var err error
	s.js, err = jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(maxPending), jetstream.WithPublishAsyncErrHandler(
		func(jetstream.JetStream, *nats.Msg, error) { s.lost.Add(1) }))
	if err != nil {
		return nil, fmt.Errorf("open the run log: %w", err)
	}
	want := jetstream.StreamConfig{
		Name: StreamName(cfg.Prefix), Subjects: []string{s.prefix + ">"}, Storage: jetstream.FileStorage,
		Discard: jetstream.DiscardOld, MaxBytes: orDefault(cfg.MaxBytes, 256<<20),
		MaxAge:   orDefault(cfg.MaxAge, 7*24*time.Hour),
		Replicas: int(orDefault(int64(cfg.Replicas), 1)), AllowDirect: true,
		Description: "what scripts write, by run",
	}
	if want.Replicas == 1 { // several are never compressed: see compression in eventlog/jslog
		want.PersistMode, want.Compression = jetstream.AsyncPersistMode, jetstream.S2Compression
	}
	if s.stream, err = s.js.CreateOrUpdateStream(ctx, want); err != nil {
		return nil, fmt.Errorf("open the run log: %w", err)
	}
	return s, nil
}

func orDefault[T ~int64](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

func (s *Stream) subject(w eventlog.WorkflowName, run eventlog.RunID) string {
	return s.prefix + string(w) + "." + string(run)
}

// Write keeps the lines of one handler call. It does not wait for the broker.
func (s *Stream) Write(w eventlog.WorkflowName, run eventlog.RunID, lines []Line) {
	if len(lines) == 0 {
		return
	}
	body, err := json.Marshal(lines)
	if err != nil {
		s.lost.Add(1)
		return
	}
	if s.js.PublishAsyncPending() >= maxPending {
		s.lost.Add(1)
		return
	}
	if _, err := s.js.PublishAsync(s.subject(w, run), body); err != nil {
		s.lost.Add(1)
	}
}

// Lost returns how many messages the broker did not take.
func (s *Stream) Lost() uint64 { return s.lost.Load() }

// Read returns the lines of a run that are still kept, oldest first. An unknown run has none. It fails when the
// broker does not answer before ctx ends.
func (s *Stream) Read(ctx context.Context, w eventlog.WorkflowName, run eventlog.RunID) ([]Line, error) {
	select {
	case <-s.js.PublishAsyncComplete(): // what was written before is there
	case <-ctx.Done():
		return nil, fmt.Errorf("read the log of run %s: %w", run, ctx.Err())
	}
	lines := []Line{}
	seq := uint64(1)
	for {
		msg, err := s.stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(s.subject(w, run)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return lines, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the log of run %s: %w", run, err)
		}
		var part []Line
		if err := json.Unmarshal(msg.Data, &part); err != nil {
			return nil, fmt.Errorf("read the log of run %s at %d: %w", run, msg.Sequence, err)
		}
		lines = append(lines, part...)
		seq = msg.Sequence + 1
	}
}

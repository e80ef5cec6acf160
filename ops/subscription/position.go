package subscription

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

// position is the stored state of a subscription: one message, so that all of it changes together.
type position struct {
	// Next is the sequence of the first message that may not be delivered yet.
	Next uint64 `json:"next"`
	// ID is that of the last message before Next that was looked at, and LastSeq is its sequence: if the stream has
	// another id there, it is another stream. Empty for none.
	ID      string `json:"id,omitempty"`
	LastSeq uint64 `json:"lastSeq,omitempty"`
	// Position is that of its fact in the log, and Through are the positions up to which the log was published with
	// that message; both are empty where the stream holds no facts of a log.
	Position string `json:"position,omitempty"`
	Through  string `json:"through,omitempty"`
	// Begin are the ends of the log when the subscription began: facts up to there are left out.
	Begin string `json:"begin,omitempty"`
	// FailingSince is the time since which attempts fail.
	FailingSince *time.Time `json:"failingSince,omitempty"`
	// Parked says that nothing more is sent until a person resumes the subscription; nil while it is not parked.
	Parked *parked `json:"parked,omitempty"`
	// Gap are the messages that the stream has dropped undelivered and that are not announced to the receiver yet.
	Gap *gap `json:"gap,omitempty"`
	// Skipped are the ids of the messages that a person chose to leave undelivered, the newest last. They are needed
	// until Next has passed them.
	Skipped []string `json:"skipped,omitempty"`
}

// mostSkipped bounds Skipped. Next passes a message long before a person has skipped so many others.
const mostSkipped = 100

// typeGap is the type of the message that announces messages which were dropped undelivered.
const typeGap = "pawl.subscription.gap.v1"

// skip leaves the message undelivered.
func (at *position) skip(m *eventlog.SkippedMessage) {
	if m.Type == typeGap {
		at.Gap = nil
		return
	}
	at.Skipped = append(slices.Clone(at.Skipped), m.ID)
	at.Skipped = at.Skipped[max(0, len(at.Skipped)-mostSkipped):]
}

// place is the place of a message in the stream and in the log.
type place struct {
	id                string
	seq               uint64
	position, through string
}

func placeOf(m *jetstream.RawStreamMsg) place {
	return place{m.Header.Get("ce-id"), m.Sequence, m.Header.Get("pawl-position"), m.Header.Get("pawl-positions")}
}

// last notes the last message of the stream that was looked at; the zero place for none.
func (at *position) last(p place) {
	at.ID, at.LastSeq, at.Position, at.Through = p.id, p.seq, p.position, p.through
}

// parked says why, and since when, nothing is sent.
type parked struct {
	At time.Time `json:"at"`
	// Since is the time at which the message that could not be delivered was recorded.
	Since time.Time `json:"since"`
	Error string    `json:"error"`
	// Message is the message that could not be delivered. It is nil in positions of earlier versions.
	Message *eventlog.SkippedMessage `json:"message,omitempty"`
}

// gap is a part of the stream, both ends included.
type gap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// positions keeps the positions in a stream that readers of the feed cannot read.
type positions struct {
	cfg    Config
	js     jetstream.JetStream
	stream jetstream.Stream
}

func openPositions(ctx context.Context, cfg Config, js jetstream.JetStream) (*positions, error) {
	name := cfg.positionStream()
	stream, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Description: "Pawl's outgoing webhooks: how far each is delivered, and whether it is parked.",
			Subjects: []string{cfg.positionSubject("*")}, Storage: jetstream.FileStorage, Replicas: cfg.Replicas,
			MaxMsgsPerSubject: 1, Discard: jetstream.DiscardOld,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", name, err)
	}
	return &positions{cfg, js, stream}, nil
}

// load reads the position; found is false for a new subscription.
func (p *positions) load(ctx context.Context, name string) (at position, found bool, err error) {
	at, seq, err := p.read(ctx, name)
	return at, seq > 0, err
}

// read reads the position and its sequence in the stream, which is 0 for a new subscription.
func (p *positions) read(ctx context.Context, name string) (at position, seq uint64, err error) {
	m, err := p.stream.GetLastMsgForSubject(ctx, p.cfg.positionSubject(name))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return at, 0, nil
	}
	if err != nil {
		return at, 0, fmt.Errorf("read the position of %s: %w", name, err)
	}
	if err := json.Unmarshal(m.Data, &at); err != nil {
		return at, 0, fmt.Errorf("read the position of %s: %w", name, err)
	}
	return at, m.Sequence, nil
}

// create stores the position of a new subscription. If another engine stored one sooner, create returns that one.
func (p *positions) create(ctx context.Context, name string, at position) (position, error) {
	err := p.save(ctx, name, at, jetstream.WithExpectLastSequencePerSubject(0))
	if !overtaken(err) {
		return at, err
	}
	theirs, found, failed := p.load(ctx, name)
	if failed == nil && !found { // it is just being written
		failed = err
	}
	return theirs, failed
}

// change changes the stored position, unless another engine has stored one meanwhile: then it fails.
func (p *positions) change(ctx context.Context, name string, change func(*position) error) (position, error) {
	at, seq, err := p.read(ctx, name)
	if err != nil {
		return at, err
	}
	if err := change(&at); err != nil {
		return at, err
	}
	return at, p.save(ctx, name, at, jetstream.WithExpectLastSequencePerSubject(seq))
}

// overtaken reports whether another engine has written the position, or is just writing it.
func overtaken(err error) bool {
	refused := new(jetstream.APIError)
	return errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) // while a write is under way
}

// save stores the position, and returns once it is durable.
func (p *positions) save(ctx context.Context, name string, at position, options ...jetstream.PublishOpt) error {
	data, err := json.Marshal(at)
	if err != nil {
		return fmt.Errorf("keep the position of %s: %w", name, err)
	}
	if _, err := p.js.Publish(ctx, p.cfg.positionSubject(name), data, options...); err != nil {
		return fmt.Errorf("keep the position of %s: %w", name, err)
	}
	return nil
}

package subscription

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/engine/clock"
)

const (
	// saveEvery is how often the position is saved: messages of that time are delivered twice after a kill.
	saveEvery = time.Second
	// idleEvery is how often the position is moved to the end of a stream without messages for the subscription.
	idleEvery = 10 * time.Second
	// lastSave bounds the saving of a position when the engine ends.
	lastSave = 2 * time.Second
	// lookAgain is how often an engine looks whether a parked subscription was resumed through another engine.
	lookAgain = 5 * time.Second
	// beginAttempt bounds one attempt to store where a subscription begins.
	beginAttempt = 500 * time.Millisecond
	// pause is the shortest pause after the stream could not be read; it grows to a hundred times that.
	pause = 100 * time.Millisecond
)

// delivery is one subscription at work.
type delivery struct {
	Subscription
	cfg     *Config
	js      jetstream.JetStream
	figures *figures
	logger  *slog.Logger
	// resumed holds a token when a person has ended a parking.
	resumed chan struct{}

	// storing is held while the stored position is read, or a parking is stored or ended. mu is not held for so long,
	// so that the status can be read also while nothing can be stored.
	storing sync.Mutex

	mu sync.Mutex
	// running says that this engine delivers. Where it does not, another one may.
	running bool
	// at is the stored position; kept says that it was loaded or made.
	at   position
	kept bool
	now  *session // nil while nothing is read
	// trouble is why the stream cannot be read, nil while it can.
	trouble error
}

// run delivers until ctx ends.
func (d *delivery) run(ctx context.Context) {
	select {
	case <-d.resumed: // the token is left from an earlier time
	default:
	}
	d.setRunning(true)
	defer d.setRunning(false)
	wait, warned := pause, ""
	for ctx.Err() == nil {
		began := time.Now()
		err := d.deliver(ctx)
		if ctx.Err() != nil {
			return
		}
		d.mu.Lock()
		d.trouble = err
		d.mu.Unlock()
		if err == nil { // the subscription was parked, or resumed
			continue
		}
		if time.Since(began) > time.Minute {
			wait, warned = pause, ""
		}
		if err.Error() != warned {
			warned = err.Error()
			d.logger.Warn("the subscription cannot read what it delivers; it tries again and goes on where it stopped",
				"error", err)
		}
		clock.Sleep(ctx, wait)
		wait = min(2*wait, 100*pause)
	}
}

func (d *delivery) setRunning(running bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running, d.trouble = running, nil
}

// deliver delivers from the position on until something fails; it returns nil after the subscription was parked.
func (d *delivery) deliver(ctx context.Context) error {
	store, err := openPositions(ctx, *d.cfg, d.js)
	if err != nil {
		return err
	}
	at, stream, err := d.position(ctx, store)
	if err != nil {
		return err
	}
	if at.Parked != nil {
		select {
		case <-d.resumed:
		case <-time.After(lookAgain): // the subscription may have been resumed through another engine
		case <-ctx.Done():
		}
		return nil
	}
	if stream == nil {
		clock.Sleep(ctx, pause) // the stream is being made
		return nil
	}
	at, ready, err := d.verified(ctx, stream, at)
	if err != nil {
		return err
	}
	if !ready {
		clock.Sleep(ctx, pause)
		return nil
	}
	s := &session{delivery: d, store: store, stream: stream,
		out: newOutbox(d.Target.Post, d.cfg.Policy, d.cfg.ParkAfter, at.FailingSince)}
	s.out.attempted, s.out.failing = d.figures.attempted(d.Name), d.fails
	return s.run(ctx, at)
}

// position is the stored position; for a new subscription it makes one. The stream is nil where there is none yet.
func (d *delivery) position(ctx context.Context, store *positions) (position, jetstream.Stream, error) {
	stream, err := d.js.Stream(ctx, d.Stream)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return position{}, nil, fmt.Errorf("look up stream %s: %w", d.Stream, err)
	}
	if err != nil {
		stream = nil
	}
	d.storing.Lock()
	defer d.storing.Unlock()
	at, found, err := store.load(ctx, d.Name)
	if err != nil {
		return at, nil, err
	}
	if !found {
		at.Begin = d.Begin
		if at.Next, err = beginning(ctx, stream, at.Begin); err != nil {
			return at, nil, err
		}
		if at, err = store.create(ctx, d.Name, at); err != nil {
			return at, nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.kept = at, true
	return at, stream, nil
}

// begin stores where a new subscription begins. Where the log has lost its end behind the beginning of an older one,
// that one begins at the new end: what this engine records there takes the places of what was lost.
func (d *delivery) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beginAttempt)
	defer cancel()
	store, err := openPositions(ctx, *d.cfg, d.js)
	if err != nil {
		return err
	}
	at, stream, err := d.position(ctx, store)
	if err != nil {
		return err
	}
	if lowest(at.Begin, d.Begin) == at.Begin {
		return nil
	}
	d.storing.Lock()
	defer d.storing.Unlock()
	at, err = store.change(ctx, d.Name, func(at *position) error {
		at.Begin = lowest(at.Begin, d.Begin)
		if at.ID != "" {
			return nil
		}
		at.Next, err = beginning(ctx, stream, at.Begin)
		return err
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	return nil
}

// fails warns that attempts fail, once for each period in which they do.
func (d *delivery) fails(err error) {
	d.logger.Warn("a message is not delivered; it is tried again and again, and those behind it wait",
		"to", d.Target.Host(), "error", err)
}

// park stores that nothing more is sent, unless a person resumes the subscription meanwhile.
func (d *delivery) park(ctx context.Context, store *positions, at position, why parked) {
	at.Parked, at.FailingSince = &why, nil
	d.mu.Lock()
	d.at = at
	d.mu.Unlock()
	d.logger.Error("the subscription is parked: nothing more is sent until a person resumes it", "to", d.Target.Host(),
		"reason", why.Error, "resume", d.Resume())
	for !d.keepParked(ctx, store, at) {
		if !clock.Sleep(ctx, saveEvery) {
			return
		}
	}
}

// keepParked saves the position, unless the subscription has been resumed. It reports false when it has to be tried
// again.
func (d *delivery) keepParked(ctx context.Context, store *positions, at position) bool {
	d.storing.Lock()
	defer d.storing.Unlock()
	d.mu.Lock()
	resumed := d.at.Parked != at.Parked
	d.mu.Unlock()
	return resumed || store.save(ctx, d.Name, at) == nil
}

// Resume is the command that ends a parking.
func (d *delivery) Resume() string { return "pawl subscriptions resume " + d.Name }

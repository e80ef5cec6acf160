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
	// saveEvery is how long a position may be behind what is delivered: so much is delivered twice after a kill.
	saveEvery = time.Second
	// idleEvery is how often the position follows a stream in which nothing is chosen.
	idleEvery = 10 * time.Second
	// lastSave bounds the saving of a position when the engine ends.
	lastSave = 2 * time.Second
	// lookAgain is how often a parked subscription is looked at for what another engine has resumed.
	lookAgain = 5 * time.Second
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

	// storing is held while what is stored is read, or a parking is stored or ended. mu is not held for so long: how a
	// subscription stands is told also while nothing can be stored.
	storing sync.Mutex

	mu sync.Mutex
	// running says that this engine delivers. Where it does not, another one may.
	running bool
	// at is what is kept; kept says that it was loaded or made.
	at   position
	kept bool
	now  *session // nil while nothing is read
	// trouble is why the stream cannot be read, nil while it can.
	trouble error
}

// run delivers until ctx ends.
func (d *delivery) run(ctx context.Context) {
	select {
	case <-d.resumed: // of an earlier time
	default:
	}
	d.setRunning(true)
	defer d.setRunning(false)
	wait, told := pause, ""
	for ctx.Err() == nil {
		began := time.Now()
		err := d.deliver(ctx)
		if ctx.Err() != nil {
			return
		}
		d.mu.Lock()
		d.trouble = err
		d.mu.Unlock()
		if err == nil { // it was parked, or resumed
			continue
		}
		if time.Since(began) > time.Minute {
			wait, told = pause, ""
		}
		if err.Error() != told {
			told = err.Error()
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

// deliver delivers from the position on until something fails, nil after it was parked.
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
		case <-time.After(lookAgain): // it may have been resumed through another engine
		case <-ctx.Done():
		}
		return nil
	}
	if stream == nil {
		clock.Sleep(ctx, pause) // it is being made
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

// position is what is kept, made where the subscription is new. The stream is nil where there is none yet.
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
		at.Next, at.Begin = 1, d.Begin
		if stream != nil {
			at.Next = stream.CachedInfo().State.LastSeq + 1
		}
		if err := store.save(ctx, d.Name, at); err != nil {
			return at, nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.kept = at, true
	return at, stream, nil
}

// fails says, once for each time in which attempts fail, that they do.
func (d *delivery) fails(err error) {
	d.logger.Warn("a message is not delivered; it is tried again and again, and those behind it wait",
		"to", d.Target.Host(), "error", err)
}

// park keeps that nothing more is sent, unless a person resumes it meanwhile.
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

// keepParked saves the position, unless it has been resumed. It reports false when that has to be tried again.
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

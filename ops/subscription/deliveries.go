package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/engine/clock"
	"github.com/pawl-run/pawl/eventlog"
)

// Deliveries delivers the messages of several subscriptions. Its methods are safe for concurrent use; Run is called
// once at a time. Where several engines share a log it is called again with each lease, and then reads anew what
// another engine has delivered meanwhile, and whether a subscription was parked or resumed there.
type Deliveries struct {
	cfg     Config
	js      jetstream.JetStream
	all     []*delivery
	figures *figures
}

// New checks the configuration; Run begins to deliver.
func New(cfg Config) (*Deliveries, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(cfg.Conn)
	if err != nil {
		return nil, fmt.Errorf("open subscriptions: %w", err)
	}
	d := &Deliveries{cfg: cfg, js: js}
	d.figures = newFigures(cfg.Subscriptions, d.List)
	for _, s := range cfg.Subscriptions {
		d.all = append(d.all, &delivery{Subscription: s, cfg: &d.cfg, js: js, figures: d.figures,
			logger: cfg.Logger.With("subscription", s.Name), resumed: make(chan struct{}, 1)})
	}
	return d, nil
}

// Begin stores where each new subscription begins. It is called before the engine works: an engine that is killed soon
// after its start would otherwise leave the facts of its first moments undelivered, since the next start would begin
// behind them. An attempt that fails is repeated until ctx ends: a stream that has no leader yet answers nothing. What
// Begin cannot store, Run stores later.
func (d *Deliveries) Begin(ctx context.Context) error {
	rest := slices.Clone(d.all)
	for {
		var failures []error
		rest = slices.DeleteFunc(rest, func(one *delivery) bool {
			err := one.begin(ctx)
			if err != nil {
				failures = append(failures, err)
			}
			return err == nil
		})
		if len(rest) == 0 {
			return nil
		}
		if !clock.Sleep(ctx, pause) {
			return errors.Join(failures...)
		}
	}
}

// Run delivers until ctx ends. A failure is tried again, and does not stop the other subscriptions.
func (d *Deliveries) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, one := range d.all {
		running.Go(func() {
			one.run(ctx)
			one.Target.Close()
		})
	}
	running.Wait()
}

// Await returns once all messages in the streams are delivered, except those of subscriptions that fail now or are
// parked, or with ctx's error.
func (d *Deliveries) Await(ctx context.Context) error {
	for _, one := range d.all {
		for !one.rests(ctx) {
			if !clock.Sleep(ctx, awaitEvery) {
				return ctx.Err()
			}
		}
	}
	return nil
}

// awaitEvery is how often Await looks.
const awaitEvery = 20 * time.Millisecond

// rests reports whether there is nothing to wait for.
func (d *delivery) rests(ctx context.Context) bool {
	d.mu.Lock()
	now, at := d.now, d.at
	d.mu.Unlock()
	if now == nil {
		return at.Parked != nil
	}
	if now.out.progress().last != nil { // the last attempt of this engine has failed
		return true
	}
	_, done := now.caughtUp(ctx)
	return done
}

// Figures are the metrics of all subscriptions, to be registered.
func (d *Deliveries) Figures() prometheus.Collector { return d.figures }

// List returns the status of all subscriptions, in the order of the configuration.
func (d *Deliveries) List() []Status {
	all := make([]Status, 0, len(d.all))
	for _, one := range d.all {
		one.lookElsewhere()
		all = append(all, one.status())
	}
	return all
}

func (d *delivery) status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Status{Name: d.Name, State: StateStarting, Target: d.Target.Host(), About: d.About, Commands: []string{}}
	why := func(text string) { s.Error = &text }
	switch {
	case d.at.Parked != nil:
		s.State, s.Since, s.Oldest = StateParked, eventlog.At(d.at.Parked.At), eventlog.At(d.at.Parked.Since)
		why(d.at.Parked.Error)
		s.Commands = append(s.Commands, d.Resume())
		if s.Refused = d.at.Parked.Message; s.Refused != nil {
			s.Commands = append(s.Commands, d.Resume()+" --skip")
		}
		return s
	case d.trouble != nil && d.now == nil:
		s.State = StateFailing
		why(d.trouble.Error())
	case d.now != nil:
		s.State = StateDelivering
		now := d.now.out.progress()
		s.Waiting = now.waiting
		if !now.oldest.IsZero() {
			s.Oldest = eventlog.At(now.oldest)
		}
		if !now.failingSince.IsZero() {
			s.State, s.Since = StateFailing, eventlog.At(now.failingSince)
			if now.last != nil {
				why(now.last.Error())
			}
		}
	}
	return s
}

// The errors of Resume.
var (
	ErrUnknown   = errors.New("there is no such subscription")
	ErrNotParked = errors.New("the subscription is not parked")
	ErrNotNoted  = errors.New("it is not noted at which message the subscription was parked")
)

// Resumption says how a person ends a parking.
type Resumption struct {
	Name string
	// By names the person for the engine's own log.
	By string
	// Skip leaves the message undelivered at which the subscription was parked.
	Skip bool
	// Record makes the action durable, with the message that is left undelivered, nil for none. Nothing is changed when
	// it fails.
	Record func(skipped *eventlog.SkippedMessage) error
}

// Resume lets a parked subscription go on with the message at which it was parked, or without that message, which it
// then returns. Its errors are ErrUnknown and ErrNotParked where there is nothing to resume, ErrNotNoted where the
// message to skip is not known, that of Record, and those of the stream of positions.
func (d *Deliveries) Resume(ctx context.Context, r Resumption) (Status, *eventlog.SkippedMessage, error) {
	for _, one := range d.all {
		if one.Name == r.Name {
			skipped, err := one.resume(ctx, r)
			if err != nil {
				return Status{}, nil, err
			}
			return one.status(), skipped, nil
		}
	}
	return Status{}, nil, fmt.Errorf("%w: %s", ErrUnknown, r.Name)
}

// lookTime bounds the look at the status of a subscription that another engine delivers.
const lookTime = 2 * time.Second

// lookElsewhere reads the status of a subscription that this engine does not deliver. Where it cannot be read, the last
// known status stays.
func (d *delivery) lookElsewhere() {
	d.mu.Lock()
	here := d.running
	d.mu.Unlock()
	if here {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	store, err := openPositions(ctx, *d.cfg, d.js)
	if err != nil {
		return
	}
	d.storing.Lock()
	defer d.storing.Unlock()
	at, found, err := store.load(ctx, d.Name)
	if err != nil || !found {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running {
		d.at, d.kept = at, true
	}
}

func (d *delivery) resume(ctx context.Context, r Resumption) (*eventlog.SkippedMessage, error) {
	store, err := openPositions(ctx, *d.cfg, d.js)
	if err != nil {
		return nil, err
	}
	d.storing.Lock()
	defer d.storing.Unlock()
	d.mu.Lock()
	at, kept, here := d.at, d.kept, d.running
	d.mu.Unlock()
	if !here { // another engine may deliver, so the position in memory may be old
		if at, kept, err = store.load(ctx, d.Name); err != nil {
			return nil, err
		}
	}
	if !kept || at.Parked == nil {
		return nil, fmt.Errorf("%w: %s", ErrNotParked, d.Name)
	}
	var skipped *eventlog.SkippedMessage
	if r.Skip {
		if skipped = at.Parked.Message; skipped == nil {
			return nil, fmt.Errorf("%w: %s", ErrNotNoted, d.Name)
		}
		at.skip(skipped)
	}
	at.Parked, at.FailingSince = nil, nil
	if err := r.Record(skipped); err != nil {
		return nil, err
	}
	if err := store.save(ctx, d.Name, at); err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.at = at
	d.mu.Unlock()
	select {
	case d.resumed <- struct{}{}:
	default:
	}
	said := []any{"by", r.By}
	if skipped != nil {
		said = append(said, "skipped", skipped.ID)
	}
	d.logger.Info("the subscription was resumed", said...)
	return skipped, nil
}

package natsservice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/engine/connector"
)

const (
	defaultInterval     = 5 * time.Second
	defaultQuiet        = 400 * time.Millisecond
	defaultListen       = 10 * time.Minute
	defaultMaxListening = 10_000
	// awaitInterval is how often Await looks.
	awaitInterval = 500 * time.Millisecond
)

// Config configures a Watcher.
type Config struct {
	// Connect opens the connection that discovery and calls use and nothing else does. It must
	// apply the options it is given; New refuses a connection that keeps requests while it is
	// down. Required.
	Connect ConnectFunc
	// Registry is where services appear as connectors. Required.
	Registry *connector.Registry
	// Prefix is the first token of subjects; empty means "pawl".
	Prefix string
	// Only is the one service that may be found on this connection, where its user may serve no other.
	// Empty: any may be.
	Only string
	// Elsewhere says of a service's name that it is believed on another connection only, because it has a
	// user of its own there; nil: of none.
	Elsewhere func(name string) bool
	// Interval is how often services are looked for; 0 means 5 s. They are also looked for when
	// the connection comes back, when a call finds no listener, and on Refresh.
	Interval time.Duration
	// Quiet is how long no answer must have come until the services found count as all that there are; 0 means 400 ms.
	// A tool must be nearer than that.
	Quiet time.Duration
	// Listen is how long a mutation's reply is waited for after its deadline (F12); 0 means 10
	// minutes.
	Listen time.Duration
	// MaxListening bounds how many calls do so at once; 0 means 10,000. With one more than that the
	// oldest is given up, and its late reply is lost.
	MaxListening int
	// Logger is told about services that come, change, go or are refused; nil discards it.
	Logger *slog.Logger
}

// Watcher keeps a Registry in step with the services on NATS. It is safe for concurrent use.
type Watcher struct {
	cfg    Config
	logger *slog.Logger
	wire   *wire

	life  context.Context // ends with Close
	end   context.CancelFunc
	done  chan struct{}
	wake  chan struct{}
	asked chan chan error

	// Only the loop uses these.
	instances map[string]micro.Info // by instance
	misses    map[string]int
	offered   map[string]*foundService

	mu      sync.Mutex
	refused []Refusal
}

// New connects and starts to look for services. A server that cannot be reached yet is no error:
// calls fail as transient until it can.
func New(cfg Config) (*Watcher, error) {
	if cfg.Connect == nil || cfg.Registry == nil {
		return nil, errors.New("watch services: Connect and Registry are required")
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "pawl"
	}
	if cfg.Interval <= 0 {
		cfg.Interval = defaultInterval
	}
	if cfg.Quiet <= 0 {
		cfg.Quiet = defaultQuiet
	}
	if cfg.Listen <= 0 {
		cfg.Listen = defaultListen
	}
	if cfg.MaxListening <= 0 {
		cfg.MaxListening = defaultMaxListening
	}
	w := &Watcher{
		cfg: cfg, logger: cfg.Logger,
		done: make(chan struct{}), wake: make(chan struct{}, 1), asked: make(chan chan error),
		instances: make(map[string]micro.Info), misses: make(map[string]int), offered: make(map[string]*foundService),
	}
	if w.logger == nil {
		w.logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if w.wire, err = connectWire(cfg.Connect, w.logger, w.nudge, cfg.MaxListening); err != nil {
		return nil, err
	}
	w.life, w.end = context.WithCancel(context.Background())
	go w.loop()
	return w, nil
}

// Close takes the services out of the registry and ends the connection. Calls that are open, or
// listen on for a late reply, end as uncertain: close the engine first.
func (w *Watcher) Close() error {
	w.end()
	<-w.done
	w.wire.close()
	return nil
}

// Refresh looks for services now and returns when the registry is in step with a look that began
// after the call.
func (w *Watcher) Refresh(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case w.asked <- answer:
	case <-ctx.Done():
		return fmt.Errorf("look for services: %w", ctx.Err())
	case <-w.life.Done():
		return errors.New("look for services: closed")
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("look for services: %w", ctx.Err())
	case <-w.done:
		return errors.New("look for services: closed")
	}
}

// Await waits until the registry has all the operations, each `connector.operation`. When ctx ends
// before, its error names those still missing.
func (w *Watcher) Await(ctx context.Context, operations ...string) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		missing := w.missing(operations)
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", strings.Join(missing, ", "), ctx.Err())
		}
		// Why a look failed is of no interest here: the next one may not.
		if err := w.Refresh(ctx); err != nil && w.life.Err() != nil {
			return err
		}
		pause.Reset(awaitInterval)
	}
}

func (w *Watcher) missing(operations []string) []string {
	return slices.DeleteFunc(slices.Clone(operations), func(full string) bool {
		name, operation, _ := strings.Cut(full, ".")
		_, ok := w.cfg.Registry.Operation(name, operation)
		return ok
	})
}

// Refused lists what was found and is not offered to scripts, with the reasons.
func (w *Watcher) Refused() []Refusal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.refused)
}

// nudge asks for a look soon.
func (w *Watcher) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Watcher) loop() {
	defer close(w.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var waiting []chan error
		select {
		case <-w.life.Done():
			w.apply(nil, nil)
			return
		case answer := <-w.asked:
			waiting = append(waiting, answer)
		case <-w.wake:
		case <-timer.C:
		}
		for more := true; more; {
			select {
			case answer := <-w.asked:
				waiting = append(waiting, answer)
			default:
				more = false
			}
		}
		err := w.look()
		if err != nil && w.life.Err() == nil {
			// What is known stays known: a broker that is away says nothing about the services.
			w.logger.Debug("services could not be looked for", "error", err)
		}
		for _, answer := range waiting {
			answer <- err
		}
		timer.Reset(w.cfg.Interval)
	}
}

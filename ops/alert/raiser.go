package alert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/projections"
)

const (
	// gatherFor is how long a transition waits for others of its workflow before the workflow is looked at.
	gatherFor = 200 * time.Millisecond
	// lookEvery is how often all workflows are looked at: some conditions begin without a transition.
	lookEvery = 30 * time.Second
	// naming bounds the search for the oldest discarded event.
	naming = 5 * time.Second
	// kept is how many alerts of one condition of one workflow the stream keeps.
	kept = 5
)

// Wanted is what one receiver is sent.
type Wanted struct {
	// Conditions, and the workflows that they are of; no workflows means all.
	Conditions []Condition
	Workflows  []string
}

// Subjects are the subjects of what is wanted, under the prefix.
func (w Wanted) Subjects(prefix string) []string {
	of := w.Workflows
	if len(of) == 0 {
		of = []string{"*"}
	}
	var subjects []string
	for _, workflow := range of {
		for _, c := range w.Conditions {
			subjects = append(subjects, subject(prefix, eventlog.WorkflowName(workflow), c))
		}
	}
	slices.Sort(subjects)
	return slices.Compact(subjects)
}

func (w Wanted) holds(workflow eventlog.WorkflowName, c Condition) bool {
	return slices.Contains(w.Conditions, c) && (len(w.Workflows) == 0 || slices.Contains(w.Workflows, string(workflow)))
}

func subject(prefix string, workflow eventlog.WorkflowName, c Condition) string {
	return prefix + ".alert." + string(workflow) + "." + string(c)
}

// StreamName is the name of the stream of alerts under a prefix.
func StreamName(prefix string) string { return strings.ToUpper(prefix) + "_ALERTS" }

// Config of a Raiser. All of it is required but PublicURL, Replicas, Now and Logger.
type Config struct {
	Conn *nats.Conn
	// Prefix of the subjects and, in capitals, of the stream's name.
	Prefix string
	// Replicas of a new stream; 0 means 1.
	Replicas int
	// Installation names the log in the source of each alert.
	Installation string
	Wanted       []Wanted
	// Workflows are all that there are. Why explains one, and State is its state, false where that is not known.
	Workflows func() []eventlog.WorkflowName
	Why       func(eventlog.WorkflowName) (explain.Why, error)
	State     func(eventlog.WorkflowName) (projections.State, bool)
	// NameDiscarded adds the oldest discarded event to an explanation.
	NameDiscarded func(context.Context, *explain.Why) error
	// PublicURL is the address under which this engine is reached, empty where alerts show no link.
	PublicURL string
	// Now is the time of this machine; nil means time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// Raiser finds conditions and raises alerts. Observe is safe for concurrent use; Run is called once.
type Raiser struct {
	cfg Config
	js  jetstream.JetStream

	looking sync.Mutex // held for one look
	stream  jetstream.Stream
	told    map[string]*told // by subject

	mu      sync.Mutex
	changed map[eventlog.WorkflowName]bool
	wake    chan struct{}
}

// New makes a raiser; Run starts it.
func New(cfg Config) (*Raiser, error) {
	if cfg.Conn == nil || cfg.Prefix == "" || cfg.Installation == "" || cfg.Workflows == nil || cfg.Why == nil ||
		cfg.State == nil || cfg.NameDiscarded == nil {
		return nil, errors.New("configure alerts: a required part is missing")
	}
	cfg.Replicas = cmp.Or(cfg.Replicas, 1)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	js, err := jetstream.New(cfg.Conn)
	if err != nil {
		return nil, fmt.Errorf("open alerts: %w", err)
	}
	return &Raiser{cfg: cfg, js: js, changed: map[eventlog.WorkflowName]bool{}, wake: make(chan struct{}, 1)}, nil
}

// Observe says that a workflow has changed. It does not block.
func (r *Raiser) Observe(record eventlog.Record) {
	if record.Workflow == eventlog.Installation {
		return
	}
	r.mu.Lock()
	r.changed[record.Workflow] = true
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run looks at the workflows that have changed, and every 30 seconds at all, until ctx ends. What was told is read when
// it begins: another engine may have told of something since this one did.
func (r *Raiser) Run(ctx context.Context) {
	r.looking.Lock()
	r.stream, r.told = nil, nil
	r.looking.Unlock()
	all, told := time.NewTicker(lookEvery), ""
	defer all.Stop()
	look := r.Look
	for {
		if err := look(ctx); err != nil && ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			r.cfg.Logger.Warn("alerts cannot be published; this is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-all.C:
			look = r.Look
		case <-r.wake:
			look = r.lookAtChanged
			select {
			case <-time.After(gatherFor):
			case <-ctx.Done():
				return
			}
		}
	}
}

// Look looks at all workflows now. The error says which alerts could not be published; the next look finds them again.
func (r *Raiser) Look(ctx context.Context) error { return r.look(ctx, r.cfg.Workflows()) }

func (r *Raiser) lookAtChanged(ctx context.Context) error {
	r.mu.Lock()
	var names []eventlog.WorkflowName
	for name := range r.changed {
		names = append(names, name)
	}
	clear(r.changed)
	r.mu.Unlock()
	return r.look(ctx, names)
}

func (r *Raiser) look(ctx context.Context, names []eventlog.WorkflowName) error {
	r.looking.Lock()
	defer r.looking.Unlock()
	if err := r.open(ctx); err != nil {
		return err
	}
	var failed error
	for _, name := range names {
		wanted := slices.DeleteFunc(Conditions(), func(c Condition) bool {
			return !slices.ContainsFunc(r.cfg.Wanted, func(w Wanted) bool { return w.holds(name, c) })
		})
		if len(wanted) > 0 {
			failed = errors.Join(failed, r.lookAt(ctx, name, wanted))
		}
	}
	return failed
}

// lookAt looks at one workflow, and publishes what is new.
func (r *Raiser) lookAt(ctx context.Context, name eventlog.WorkflowName, wanted []Condition) error {
	why, err := r.cfg.Why(name)
	if err != nil {
		return fmt.Errorf("explain workflow %s: %w", name, err)
	}
	var state *projections.State
	if s, ok := r.cfg.State(name); ok {
		state = &s
	}
	found := findings(why, state)
	for _, c := range wanted {
		at := subject(r.cfg.Prefix, name, c)
		before := r.told[at]
		if before == nil {
			before = &told{}
			r.told[at] = before
		}
		var f *finding
		if one, holds := found[c]; holds {
			f = &one
		}
		now := r.cfg.Now()
		state := before.next(f, now)
		if state == "" {
			continue
		}
		after := told{State: state, Reason: before.Reason, Since: before.Since, At: now.UTC(), RaisedAt: before.RaisedAt}
		if f != nil {
			after.Reason, after.Since = f.reason, f.since
		}
		if state == Raised {
			after.RaisedAt = after.At
		}
		about := r.about(ctx, why, after)
		if err := r.tell(ctx, at, Alert{Workflow: name, Condition: c, told: after, Message: about.Message,
			Commands: about.Commands}, before.seq); err != nil {
			return err
		}
	}
	return nil
}

// about is the explanation with that first which the condition is about.
func (r *Raiser) about(ctx context.Context, why explain.Why, after told) explain.Why {
	part, ok := first[after.Reason]
	if !ok || after.State == Resolved {
		return why
	}
	why = why.First(part)
	if part == explain.PartDiscarded {
		ctx, cancel := context.WithTimeout(ctx, naming)
		defer cancel()
		if err := r.cfg.NameDiscarded(ctx, &why); err != nil {
			r.cfg.Logger.Warn("an alert does not name the oldest discarded event", "workflow", string(why.Workflow),
				"error", err)
		}
	}
	return why
}

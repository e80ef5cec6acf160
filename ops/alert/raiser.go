package alert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/subscription"
	"github.com/pawl-run/pawl/projections"
)

// Wanted says which alerts one receiver gets.
type Wanted struct {
	// Conditions of these workflows; no workflows means all.
	Conditions []Condition
	Workflows  []string
}

// Subjects are the subjects of the wanted alerts, under the prefix.
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
	// Workflows lists all workflows. Why explains one, and State is its state, false where that is not known.
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
	issued  map[string]*issued // by subject

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

// open finds the stream, or makes it, and reads the last alerts.
func (r *Raiser) open(ctx context.Context) error {
	if r.stream != nil {
		return nil
	}
	name := StreamName(r.cfg.Prefix)
	stream, err := r.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = r.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Description: "Pawl's alerts: what a person was told of, by workflow and condition.",
			Subjects: []string{r.cfg.Prefix + ".alert.>"}, Storage: jetstream.FileStorage, Replicas: r.cfg.Replicas,
			MaxMsgsPerSubject: kept, Discard: jetstream.DiscardOld,
		})
	}
	if err != nil {
		return fmt.Errorf("open stream %s: %w", name, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(r.cfg.Prefix+".alert.>"))
	if err != nil {
		return fmt.Errorf("read the alerts of stream %s: %w", name, err)
	}
	known := map[string]*issued{}
	for at := range info.State.Subjects {
		if known[at], err = lastIssued(ctx, stream, at); err != nil {
			return err
		}
	}
	r.stream, r.issued = stream, known
	return nil
}

func lastIssued(ctx context.Context, stream jetstream.Stream, at string) (*issued, error) {
	m, err := stream.GetLastMsgForSubject(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read the last alert at %s: %w", at, err)
	}
	last := Alert{}
	if err := json.Unmarshal(m.Data, &last); err != nil {
		return nil, fmt.Errorf("read the last alert at %s: %w", at, err)
	}
	last.seq = m.Sequence
	return &last.issued, nil
}

// publish publishes an alert, unless one was published that is newer than the last known one.
func (r *Raiser) publish(ctx context.Context, at string, a Alert, last uint64) error {
	if r.cfg.PublicURL != "" {
		a.Link = strings.TrimSuffix(r.cfg.PublicURL, "/") + "/v1/workflows/" + url.PathEscape(string(a.Workflow)) + "/why"
	}
	if a.Commands == nil || a.State == Resolved {
		a.Commands = []string{}
	}
	a.Text = eventlog.Clip(a.text(), maxText)
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write alert %s: %w", at, err)
	}
	m := nats.NewMsg(at)
	m.Data = data
	for name, value := range map[string]string{
		"ce-specversion": "1.0", "ce-id": fmt.Sprintf("alert.%s.%s.%d", a.Workflow, a.Condition, a.At.UnixMicro()),
		"ce-source": "/pawl/" + eventlog.InstallationID(r.cfg.Installation) + "/" + string(a.Workflow),
		"ce-type":   "pawl.alert." + string(a.State) + ".v1", "ce-time": a.At.Format(time.RFC3339Nano),
		"ce-partitionkey": string(a.Workflow), "ce-datacontenttype": "application/json",
		subscription.TextHeader: "text",
	} {
		m.Header.Set(name, value)
	}
	ack, err := r.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(last))
	if err != nil {
		r.stream = nil // the next look opens it again
		return fmt.Errorf("publish alert %s: %w", at, err)
	}
	a.seq = ack.Sequence
	r.issued[at] = &a.issued
	r.cfg.Logger.Debug("an alert is to be delivered", "workflow", string(a.Workflow), "condition", string(a.Condition),
		"state", string(a.State))
	return nil
}

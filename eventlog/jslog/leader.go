package jslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/eventlog"
)

// stored is a message as the stream's leader holds it.
type stored struct {
	Subject string `json:"subject"`
	Seq     uint64 `json:"seq"`
	Data    []byte `json:"data"`
}

// query addresses one message: by sequence, the next of a subject from a sequence on, or the
// last of a subject.
type query struct {
	Seq  uint64 `json:"seq,omitempty"`
	Next string `json:"next_by_subj,omitempty"`
	Last string `json:"last_by_subj,omitempty"`
}

// fetch reads one message from the stream's leader. Direct reads are answered by any replica,
// also by one that lags behind or is damaged: what decides an append must not come from there.
func (l *Log) fetch(ctx context.Context, partition int, q query) (stored, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return stored{}, err
	}
	var a struct {
		Error   *apiError `json:"error"`
		Message *stored   `json:"message"`
	}
	if err := l.ask(ctx, "STREAM.MSG.GET."+l.names.stream(partition), body, &a); err != nil {
		return stored{}, fmt.Errorf("read from %s: %w", l.names.stream(partition), err)
	}
	switch {
	case a.Error != nil:
		return stored{}, fmt.Errorf("read from %s: %w", l.names.stream(partition), a.Error)
	case a.Message == nil:
		return stored{}, fmt.Errorf("read from %s: answer without a message", l.names.stream(partition))
	}
	return *a.Message, nil
}

// fetchUntilReachable is fetch for a start: while the cluster has no leader it asks again, until ctx ends.
func (l *Log) fetchUntilReachable(ctx context.Context, partition int, q query) (m stored, err error) {
	err = l.untilReachable(ctx, func() error {
		m, err = l.fetch(ctx, partition, q)
		return err
	})
	return m, err
}

// fetchAgain is fetch for a reading, which outlives a change of the leader.
func (l *Log) fetchAgain(ctx context.Context, partition int, q query) (m stored, err error) {
	err = l.retry(ctx, func() error {
		m, err = l.fetch(ctx, partition, q)
		return err
	})
	return m, err
}

// fetchSurely is fetchAgain for a reader that takes a missing message for damage. In a cluster a leader that was
// deposed and does not know it yet may lack what is there: it is asked again for as long as that can last. For as long
// after that, each message that is said to be missing is believed to be so at once.
func (l *Log) fetchSurely(ctx context.Context, partition int, q query, believed *absences) (stored, error) {
	for said := (failures{least: l.maxElection}); ; {
		m, err := l.fetchAgain(ctx, partition, q)
		if !isMessageNotFound(err) || time.Now().UnixNano() < believed.until.Load() {
			return m, err
		}
		if said.failed(); said.over(1) {
			believed.until.Store(time.Now().Add(l.maxElection).UnixNano())
			return m, err
		}
		select {
		case <-ctx.Done():
			return m, context.Cause(ctx)
		case <-l.closing:
			return m, fmt.Errorf("%w: %w", eventlog.ErrClosed, err)
		case <-time.After(apiPause):
		}
	}
}

// ask asks the JetStream API; the answer's error is left to the caller.
func (l *Log) ask(ctx context.Context, subject string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.ReadTimeout)
	defer cancel()
	m, err := l.nc.RequestWithContext(ctx, "$JS.API."+subject, body)
	if err != nil {
		if errors.Is(err, nats.ErrNoResponders) {
			return fmt.Errorf("JetStream does not answer: %w", err)
		}
		return err
	}
	if err := json.Unmarshal(m.Data, into); err != nil {
		return fmt.Errorf("read answer of the JetStream API: %w", err)
	}
	return nil
}

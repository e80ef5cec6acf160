package diskspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	// reserve is the free space below which nothing new starts, so that settlements of calls that
	// have left can still be written.
	reserve = 64 * schedule.MiB
	// lastSpace is what the broker's own limit leaves of the disk. Only settlements reach that limit; the broker then
	// answers with an error, while on a full disk it would not answer at all.
	lastSpace = 16 * schedule.MiB
	// lookHolds is how long the result of one look at the disk is used.
	lookHolds = 250 * time.Millisecond
)

// Watch watches the free space of the data directory's disk. Safe for concurrent use.
type Watch struct {
	dir    string
	logger *slog.Logger
	free   func(dir string) (schedule.Size, error)
	now    func() time.Time

	mu      sync.Mutex
	looked  time.Time
	verdict error
}

// New watches the disk of a folder; free says how much space an ordinary user has there.
func New(dir string, free func(dir string) (schedule.Size, error), logger *slog.Logger) *Watch {
	return &Watch{dir: dir, logger: logger, free: free, now: time.Now}
}

// Check reports why no new work may start; nil when there is enough disk space.
func (r *Watch) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if !r.looked.IsZero() && now.Sub(r.looked) < lookHolds {
		return r.verdict
	}
	before := r.verdict
	r.looked, r.verdict = now, nil
	free, err := r.free(r.dir)
	switch {
	case err != nil:
		// Callers that may not learn where the data is read this text too, so only the engine's log has the path.
		r.verdict = errors.New("the free space on the disk of the data directory cannot be found out")
	case free < reserve:
		r.verdict = fmt.Errorf("only %d MiB are free on the disk of the data directory, pawl keeps %s for what is "+
			"under way: free some space", free/schedule.MiB, reserve)
	}
	switch {
	case r.verdict != nil && before == nil:
		r.logger.Error("nothing new starts", "reason", r.verdict, "data", r.dir, "error", err)
	case r.verdict == nil && before != nil:
		r.logger.Info("there is disk space again; work goes on", "free", free.String())
	}
	return r.verdict
}

// ErrLacking says that work waited for disk space and got none in time.
var ErrLacking = errors.New("no disk space for new work")

// Lacking blocks until disk space has been lacking for the time most without interruption, or until ctx ends.
func (r *Watch) Lacking(ctx context.Context, most time.Duration) error {
	ticker := time.NewTicker(lookHolds)
	defer ticker.Stop()
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-ticker.C:
			verdict := r.Check()
			switch {
			case verdict == nil:
				since = time.Time{}
			case since.IsZero():
				since = now
			case now.Sub(since) >= most:
				return fmt.Errorf("%w: %w", ErrLacking, verdict)
			}
		}
	}
}

// StoreLimit is how much the broker may store in all: what it has and what is free, without lastSpace. It is 0, the
// broker's own default, where the disk cannot be asked.
func StoreLimit(dir string, freeSpace func(string) (schedule.Size, error)) (int64, error) {
	free, err := freeSpace(dir)
	if err != nil {
		return 0, nil
	}
	used, err := embeddednats.Stored(dir)
	if err != nil {
		return 0, fmt.Errorf("measure what the broker stores: %w", err)
	}
	return max(used+int64(free-lastSpace), int64(schedule.MiB)), nil
}

// RunLogLimit is how much of the broker's disk space the log lines of scripts may take. The broker reserves all of it
// at once, so on a small disk the usual amount would leave nothing for the rest.
func RunLogLimit(limit int64) int64 {
	return FeedLimit(limit, int64(256*schedule.MiB))
}

// FeedLimit is how much of the broker's disk space the feed may take where it is not configured; see RunLogLimit.
func FeedLimit(limit, usual int64) int64 {
	if limit == 0 {
		return usual
	}
	return min(usual, limit/8)
}

// IsFull reports whether the disk was full.
func IsFull(err error) bool {
	return errors.Is(err, eventlog.ErrFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// JetStream's answers when it cannot reserve the space of a stream, and when it cannot write the files of a new one.
// The reason is only in the server's own log.
const (
	codeStorageResources jetstream.ErrorCode = 10047
	codeStreamCreate     jetstream.ErrorCode = 10049
)

// Unwritten adds to the error about a new stream that the disk of the data directory has no space for it, if it
// has none.
func Unwritten(err error, data string, free func(dir string) (schedule.Size, error)) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.ErrorCode {
	case codeStorageResources:
		return fmt.Errorf("%w: %w", eventlog.ErrFull, err)
	case codeStreamCreate:
		if left, unknown := free(data); unknown == nil && left < lastSpace {
			return fmt.Errorf("%w: only %d KiB are free: %w", eventlog.ErrFull, left/schedule.KiB, err)
		}
	}
	return err
}

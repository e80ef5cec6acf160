package jslog

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/eventlog"
)

const (
	// apiPause lies between two questions to a cluster that has no leader.
	apiPause = 250 * time.Millisecond
	// readTries is how often a reading asks before it gives up. In a cluster it asks for maxElection at least.
	readTries = 3
	// maxElection is longer than a cluster needs for a new leader, and than a leader that was deposed goes on
	// answering: 4 to 9 s and up to 10 s, seen in nats-server 2.15.
	maxElection = 30 * time.Second
)

// streams returns the log's streams in order of partition, after creating them if the log never
// existed. They are created from the last partition to the first, so that a creation that was
// interrupted can be told from a loss: once the first exists, all have existed.
func (l *Log) streams(ctx context.Context) ([]*jetstream.StreamInfo, error) {
	found, err := l.find(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.mayRestore(found); err != nil {
		return nil, err
	}
	for range maxPartitions {
		n, err := l.layout(found)
		if err != nil {
			return nil, err
		}
		missing := make([]int, 0, n)
		for p := range n {
			if found[p] == nil {
				missing = append(missing, p)
			}
		}
		if len(missing) == 0 {
			infos := make([]*jetstream.StreamInfo, n)
			l.partitions = make([]*partition, n)
			for p := range n {
				infos[p], l.partitions[p] = found[p], new(partition)
				if err := l.partitions[p].read(found[p].Config); err != nil {
					return nil, err
				}
			}
			return infos, nil
		}
		if err := l.mayCreate(found, missing); err != nil {
			return nil, err
		}
		p := missing[len(missing)-1]
		if found[p], err = l.create(ctx, p, n); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("create log: streams vanish while they are created")
}

// find returns the info of all streams that bear the log's names.
func (l *Log) find(ctx context.Context) (map[int]*jetstream.StreamInfo, error) {
	var found map[int]*jetstream.StreamInfo
	err := l.untilReachable(ctx, func() error {
		found = make(map[int]*jetstream.StreamInfo)
		list := l.js.StreamNames(ctx, jetstream.WithStreamListSubject(l.names.prefix+".log.>"))
		for name := range list.Name() {
			number, ok := strings.CutPrefix(name, strings.ToUpper(l.names.prefix)+"_LOG_")
			p, err := strconv.Atoi(number)
			if !ok || err != nil || p < 0 || p >= maxPartitions || l.names.stream(p) != name {
				return fmt.Errorf("stream %s listens on subjects of the log; delete it or choose another prefix", name)
			}
			found[p] = nil
		}
		if err := list.Err(); err != nil {
			return fmt.Errorf("list streams: %w", err)
		}
		for p := range found {
			info, err := l.info(ctx, l.names.stream(p))
			if err != nil {
				return err
			}
			found[p] = info
		}
		return nil
	})
	return found, err
}

func (l *Log) info(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	s, err := l.js.Stream(ctx, name)
	if isNotUnderstood(err) {
		if !strings.Contains(err.Error(), "unsupported - ") { // it is not the stream's own metadata
			return nil, fmt.Errorf("look up stream %s: the server does not serve it: %w", name, err)
		}
		return nil, fmt.Errorf("%w: the server does not understand the metadata of stream %s: %w; "+
			"its messages are all there", eventlog.ErrNewerFormat, name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", name, err)
	}
	if err := fromLeader(s.CachedInfo()); err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", name, err)
	}
	return s.CachedInfo(), nil
}

// fromLeader refuses an answer about a stream that does not name its leader: nats-server 2.15.2 lets a server that has
// no space left, and therefore knows no leader, answer for itself. Such a server lacks what was acknowledged since.
func fromLeader(info *jetstream.StreamInfo) error {
	if info.Config.Replicas > 1 && info.Cluster != nil && info.Cluster.Leader == "" {
		return errNoLeader
	}
	return nil
}

// untilReachable repeats what fails because there is no leader or no connection, until ctx ends.
func (l *Log) untilReachable(ctx context.Context, f func() error) error {
	return l.repeat(ctx, math.MaxInt, f)
}

// retry repeats f a few times: a server that reads its own disk may ask to come back, and a cluster elects a leader.
func (l *Log) retry(ctx context.Context, f func() error) error { return l.repeat(ctx, readTries, f) }

func (l *Log) repeat(ctx context.Context, tries int, f func() error) error {
	for row := (failures{least: l.maxElection}); ; {
		err := f()
		if err == nil || !isTemporary(err) {
			return err
		}
		if row.failed(); row.over(tries) {
			return err
		}
		if row.tries == 1 {
			l.cfg.Logger.Warn("the log waits for JetStream", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return err
		case <-l.closing:
			return fmt.Errorf("%w: %w", eventlog.ErrClosed, err)
		case <-time.After(apiPause):
		}
	}
}

// layout returns the number of partitions, checking that all streams found belong to one log
// that this version reads.
func (l *Log) layout(found map[int]*jetstream.StreamInfo) (int, error) {
	n := 0
	for p, info := range found {
		if info == nil {
			continue
		}
		meta, name := info.Config.Metadata, info.Config.Name
		if err := checkFormat(info.Config); err != nil {
			return 0, err
		}
		parts, err := strconv.Atoi(meta[metaPartitions])
		if err != nil || parts <= p || (n != 0 && parts != n) {
			return 0, fmt.Errorf("%w: stream %s says it is one of %q partitions", eventlog.ErrDamaged, name,
				meta[metaPartitions])
		}
		n = parts
		if l.installation != "" && l.installation != meta[metaInstallation] {
			return 0, fmt.Errorf("%w: stream %s belongs to installation %s, another partition to %s", eventlog.ErrDamaged, name,
				meta[metaInstallation], l.installation)
		}
		l.installation = meta[metaInstallation]
		if err := checkConfig(info.Config); err != nil && !l.accept(err) {
			return 0, err
		}
	}
	if l.mark != nil && l.accepting != nil && n != 0 && !l.mark.of(l.installation, n) {
		l.accepting.end("the high-water mark %s is another log's", l.cfg.Mark)
		err := l.mark.close()
		if l.mark = nil; err != nil {
			return 0, err
		}
	}
	if l.mark != nil {
		if n != 0 && !l.mark.of(l.installation, n) {
			return 0, fmt.Errorf("%w: the high-water mark %s belongs to installation %s with %d partitions, "+
				"the log found is %s with %d; restore the log that belongs to this directory",
				eventlog.ErrDamaged, l.cfg.Mark, l.mark.installation, len(l.mark.points), l.installation, n)
		}
		n = len(l.mark.points)
	}
	switch {
	case n == 0:
		n = max(l.cfg.Partitions, 1)
	case l.cfg.Partitions != 0 && l.cfg.Partitions != n:
		return 0, fmt.Errorf("the log has %d partitions, fixed when it was created; the configuration asks for %d", n,
			l.cfg.Partitions)
	}
	return n, nil
}

// checkFormat refuses a stream that may hold what this version does not read.
func checkFormat(c jetstream.StreamConfig) error {
	format, err := strconv.Atoi(c.Metadata[metaFormat])
	if err != nil {
		return fmt.Errorf("stream %s is not a log of Pawl: it has no %s", c.Name, metaFormat)
	}
	if format > eventlog.FormatVersion {
		return fmt.Errorf("%w: log format %d, this pawl reads up to %d; use a newer pawl", eventlog.ErrNewerFormat, format,
			eventlog.FormatVersion)
	}
	return nil
}

// checkConfig refuses a stream that is configured to drop messages.
func checkConfig(c jetstream.StreamConfig) error {
	if c.Retention != jetstream.LimitsPolicy || c.MaxAge != 0 || c.MaxMsgs > 0 || c.MaxBytes > 0 ||
		c.MaxMsgsPerSubject > 0 {
		return fmt.Errorf("%w: stream %s was configured to drop messages "+
			"(retention %s, max age %s, messages %d, bytes %d, per subject %d); "+
			"remove the limits, then look whether the log is whole",
			eventlog.ErrDamaged, c.Name, c.Retention, c.MaxAge, c.MaxMsgs, c.MaxBytes, c.MaxMsgsPerSubject)
	}
	return nil
}

// mayCreate refuses to create a stream that has existed: an empty log in its place would let
// everything happen again.
func (l *Log) mayCreate(found map[int]*jetstream.StreamInfo, missing []int) error {
	streams := make([]string, len(missing))
	for i, p := range missing {
		streams[i] = l.names.stream(p)
	}
	for _, name := range streams {
		if why, acceptable := l.cfg.Unserved(name); acceptable {
			return fmt.Errorf("%w: stream %s is there and cannot be used: %w", eventlog.ErrDamaged, name, why)
		} else if why != nil {
			return fmt.Errorf("%w: stream %s is there and cannot be used: %w", eventlog.ErrGone, name, why)
		}
	}
	gone := func(how string) error {
		return fmt.Errorf("%w: %s is gone (%s); it is not created anew: restore it from a backup",
			eventlog.ErrGone, strings.Join(streams, ", "), how)
	}
	if l.mark != nil || l.accepting != nil {
		return gone("the high-water mark " + l.cfg.Mark + " says that it existed")
	}
	if found[0] != nil {
		return gone("the other partitions exist")
	}
	for _, info := range found {
		if info != nil && info.State.LastSeq > 0 {
			return gone(info.Config.Name + " has content")
		}
	}
	return nil
}

func (l *Log) create(ctx context.Context, p, n int) (*jetstream.StreamInfo, error) {
	installation := l.installation
	if installation == "" {
		installation = rand.Text()
		if l.cfg.Restoring != nil {
			installation = l.cfg.Restoring.Installation
		}
	}
	format := eventlog.FormatFirst
	if l.cfg.HoldFormat {
		format = eventlog.FormatVersion
	}
	metadata := map[string]string{
		metaFormat:       strconv.Itoa(format),
		metaPartitions:   strconv.Itoa(n),
		metaInstallation: installation,
	}
	l.restoring(metadata)
	name := l.names.stream(p)
	var info *jetstream.StreamInfo
	err := l.untilReachable(ctx, func() error {
		s, err := l.js.CreateStream(ctx, jetstream.StreamConfig{
			Name:        name,
			Description: "Pawl's log: the only truth. Never delete or edit.",
			Subjects:    []string{l.names.all(p)},
			Storage:     jetstream.FileStorage,
			Retention:   jetstream.LimitsPolicy,
			Discard:     jetstream.DiscardNew,
			Replicas:    l.cfg.Replicas,
			DenyDelete:  true,
			DenyPurge:   true,
			Compression: compression(l.cfg.Replicas),
			// No message carries an id; JetStream rebuilds this window at every start.
			Duplicates:         100 * time.Millisecond,
			AllowDirect:        l.cfg.Replicas == 1,
			AllowAtomicPublish: true,
			Metadata:           metadata,
		})
		if isNameInUse(err) {
			// Another engine was faster; its stream counts.
			info, err = l.info(ctx, name)
			return err
		}
		if err != nil {
			return notCreated(name, l.cfg.Replicas, err)
		}
		info = s.CachedInfo()
		return nil
	})
	return info, err
}

// Last implements eventlog.Log. The sequence and the format are from one answer of the stream's leader: raiseFormat was
// acknowledged before the first message of a newer format was sent, so an answer that counts such a message has that
// format too. (A server that has just become the leader may learn of the format a moment later: what it yields then is
// unreadable, and the next answer says why.)
func (l *Log) Last(ctx context.Context, p int) (uint64, error) {
	if err := l.usable(p); err != nil {
		return 0, err
	}
	var info *jetstream.StreamInfo
	err := l.retry(ctx, func() (err error) {
		info, err = l.info(ctx, l.names.stream(p))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read end of log partition %d: %w", p, err)
	}
	if err := checkFormat(info.Config); err != nil {
		return 0, fmt.Errorf("read end of log partition %d: %w", p, err)
	}
	if err := l.keepFormat(ctx, p, info.Config); err != nil {
		return 0, fmt.Errorf("read end of log partition %d: %w", p, err)
	}
	return info.State.LastSeq, nil
}

// guarded makes every update of a stream follow Config.BeforeUpdate, one update at a time.
type guarded struct {
	jetstream.JetStream
	before   func(stream string) error
	updating sync.Mutex
}

// UpdateStream makes no update after an error of BeforeUpdate.
func (g *guarded) UpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	g.updating.Lock()
	defer g.updating.Unlock()
	if err := g.before(cfg.Name); err != nil {
		return nil, fmt.Errorf("prepare the update of stream %s: %w", cfg.Name, err)
	}
	return g.JetStream.UpdateStream(ctx, cfg)
}

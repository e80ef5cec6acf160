package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/eventlog/jslog/bucket"
)

// Upgrade is the format of a shared log before and after.
type Upgrade struct {
	From, To int
	// Nodes are those whose engines run, by name: the newest format is what all of them read.
	Nodes []string
}

// RaiseFormat raises the format of a shared log to the newest one that all running nodes read. A node that ended
// without leaving counts too, unless without names it: it may come back as it was. After an error the format may be
// raised in part; it may be repeated.
func RaiseFormat(ctx context.Context, nc *nats.Conn, logger *slog.Logger, without []string) (u Upgrade, err error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return u, exit.Failed("", err)
	}
	nodes, err := readNodes(ctx, js)
	if err != nil {
		return u, exit.Failed("are the log and its leases there? pawl cluster init makes them", err)
	}
	u.To = eventlog.FormatVersion
	var old []string
	for name, n := range nodes {
		if n.Engine == "" || slices.Contains(without, name) {
			continue
		}
		u.Nodes = append(u.Nodes, name)
		if u.To = min(u.To, n.Format); n.Format < eventlog.FormatVersion {
			old = append(old, fmt.Sprintf("%s (pawl %s, up to format %d)", name, n.Version, n.Format))
		}
	}
	slices.Sort(u.Nodes)
	slices.Sort(old)
	log, err := jslog.Open(ctx, nc, jslog.Config{HoldFormat: true, Logger: logger})
	if err != nil {
		return u, exit.Failed("use the newest pawl that runs there", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if u.From, err = log.Format(ctx); err != nil {
		return u, exit.Failed("repeat the command", err)
	}
	if len(old) > 0 && u.To <= u.From {
		return u, exit.Failed("upgrade and restart these first; one that is gone for good is left out with --without NODE",
			fmt.Errorf("the log stays at format %d: not all nodes read a newer one: %s", u.From, strings.Join(old, ", ")))
	}
	if err := log.RaiseFormat(ctx, u.To); err != nil {
		return u, exit.Failed("repeat the command", err)
	}
	u.To = max(u.From, u.To)
	return u, lateNodes(ctx, js, u.To, without)
}

// lateNodes is an error that names the nodes that have come meanwhile and do not read the format. Such a node finds
// that out when it takes a partition.
func lateNodes(ctx context.Context, js jetstream.JetStream, format int, without []string) error {
	nodes, err := readNodes(ctx, js)
	if err != nil {
		return exit.Failed("see whether each node reads it: pawl cluster status", fmt.Errorf("the log has format %d now; "+
			"which nodes have come meanwhile is not known: %w", format, err))
	}
	var late []string
	for name, n := range nodes {
		if n.Engine != "" && n.Format < format && !slices.Contains(without, name) {
			late = append(late, fmt.Sprintf("%s (pawl %s, up to format %d)", name, n.Version, n.Format))
		}
	}
	if len(late) == 0 {
		return nil
	}
	slices.Sort(late)
	return exit.Failed("install the newer pawl there and start it again; until then it takes no part",
		fmt.Errorf("the log has format %d now, and a node has come meanwhile that does not read it: %s", format,
			strings.Join(late, ", ")))
}

// lookAgainTime bounds one look at the bucket: a question that is sent during an election is never answered.
const lookAgainTime = 20 * time.Second

// readNodes reads what the nodes have published about themselves, by name.
func readNodes(ctx context.Context, js jetstream.JetStream) (map[string]lease.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, lookAgainTime)
	defer cancel()
	entries, err := bucket.Open(ctx, js, LeasesBucket)
	if err != nil {
		return nil, err
	}
	keys, err := entries.Keys(ctx, lease.NodePrefix)
	if err != nil {
		return nil, err
	}
	nodes := map[string]lease.Node{}
	for _, key := range keys {
		text, _, err := entries.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		var n lease.Node
		if err := json.Unmarshal(text, &n); err != nil {
			return nil, fmt.Errorf("read the entry %s: %w", key, err)
		}
		nodes[strings.TrimPrefix(key, lease.NodePrefix)] = n
	}
	return nodes, nil
}

package embeddednats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ErrAlone: the server is in no cluster.
var ErrAlone = errors.New("this server is alone, in no cluster")

// Members is a cluster as one of its servers sees it.
type Members struct {
	Cluster string
	// Leader is the node that decides where streams are; empty during an election, or without a majority.
	Leader string
	// Nodes are all that the cluster counts, this one among them, by name. A node that is gone for good counts until it is
	// removed.
	Nodes []Member
}

// Member is one node.
type Member struct {
	Name string
	// Current: it was heard of lately and has taken in all that was decided.
	Current bool
	// Offline: it was not heard of lately.
	Offline bool
	// Seen is how long ago it was heard of; 0 of the node that was asked.
	Seen time.Duration
	// Behind is how many decisions it has not taken in.
	Behind uint64
}

// Members says which nodes the cluster has. What it says about the others is known to the leader alone: on any other
// node, all but the leader have no more than a name and whether they are offline. It fails with ErrAlone outside a
// cluster.
func (s *Server) Members() (Members, error) {
	if s.cluster == "" {
		return Members{}, ErrAlone
	}
	info, err := s.nats.Jsz(nil)
	if err != nil {
		return Members{}, fmt.Errorf("ask for the nodes of cluster %s: %w", s.cluster, err)
	}
	m := Members{Cluster: s.cluster}
	own := Member{Name: s.Name(), Current: s.nats.JetStreamIsCurrent()}
	if info.Meta == nil {
		m.Nodes = []Member{own}
		return m, nil
	}
	m.Leader = info.Meta.Leader
	for _, peer := range info.Meta.Replicas {
		if peer.Name != own.Name {
			m.Nodes = append(m.Nodes, Member{Name: peer.Name, Current: peer.Current, Offline: peer.Offline, Seen: peer.Active,
				Behind: peer.Lag})
		}
	}
	m.Nodes = append(m.Nodes, own)
	slices.SortFunc(m.Nodes, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return m, nil
}

// ConnectSystem opens an in-process connection to the account in which the servers of the cluster speak about
// themselves. It fails with ErrAlone outside a cluster; other errors are those of Connect.
func (s *Server) ConnectSystem(opts ...nats.Option) (*nats.Conn, error) {
	if s.cluster == "" {
		return nil, ErrAlone
	}
	return s.connect(systemUser, systemInbox, opts...)
}

// Remove takes a node out of the cluster for good: the streams it had copies of get others, and it does not count any
// more. A node whose data is gone must be removed before it comes back, under another name. It fails for the node that
// is asked, for one that the cluster does not have, and when the leader refuses it or does not answer until ctx ends.
func (s *Server) Remove(ctx context.Context, node string) error {
	if node == s.Name() {
		return fmt.Errorf("remove node %s: it is the node that was asked; stop it, and ask another one", node)
	}
	known, err := s.Members()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(known.Nodes, func(m Member) bool { return m.Name == node }) {
		return fmt.Errorf("remove node %s: cluster %s has no node of this name", node, s.cluster)
	}
	nc, err := s.ConnectSystem(nats.Name("pawl cluster remove"))
	if err != nil {
		return err
	}
	defer nc.Close()
	body, err := json.Marshal(server.JSApiMetaServerRemoveRequest{Server: node})
	if err != nil {
		return err
	}
	for again := false; ; again = true {
		once, cancel := context.WithTimeout(ctx, removeTime)
		m, err := nc.RequestWithContext(once, server.JSApiRemoveServer, body)
		cancel()
		switch {
		case err == nil:
			return removed(node, m.Data, again)
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("remove node %s: the leader of the cluster does not answer: %w", node, err)
		}
	}
}

// removeTime is how long one request waits. In an election nobody answers, and none comes later either.
const removeTime = 3 * time.Second

// removed reads the answer. Where it was asked again, an earlier request may have removed the node.
func removed(node string, text []byte, again bool) error {
	var answer server.JSApiMetaServerRemoveResponse
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("remove node %s: read the answer: %w", node, err)
	}
	switch {
	case answer.Error == nil, again && answer.Error.ErrCode == uint16(server.JSClusterServerNotMemberErr):
		return nil
	}
	return fmt.Errorf("remove node %s: %w", node, answer.Error)
}

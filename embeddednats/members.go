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
	// Nodes are all that the cluster counts, this one among them, by name. A node that is gone for good counts until it
	// is removed.
	Nodes []Member
}

// Member is one node.
type Member struct {
	Name string
	// Current: the leader has heard from it lately, and it has applied all decisions of the leader.
	Current bool
	// Offline: the leader has not heard from it lately.
	Offline bool
	// Seen is how long ago it was heard from; 0 for the node that was asked.
	Seen time.Duration
	// Behind is how many decisions it has not applied.
	Behind uint64
}

// Members lists the nodes of the cluster. Only the leader knows the state of all nodes. Another node knows its own and
// the leader's; of the rest it returns only the names, and which of them are offline. It fails with ErrAlone outside a
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

// StepAside makes other nodes the leaders of the streams that this node leads, so that nothing waits for an election
// once this node ends. It returns when this node leads no stream any more, or with an error when ctx ends before:
// perhaps no other node has all of a stream. Outside a cluster it does nothing.
func (s *Server) StepAside(ctx context.Context) error {
	if s.cluster == "" {
		return nil
	}
	nc, err := s.Connect(nats.Name("pawl steps aside"))
	if err != nil {
		return err
	}
	defer nc.Close()
	for {
		led, err := s.leads()
		if err != nil || len(led) == 0 {
			return err
		}
		for _, stream := range led {
			if err := nc.Publish("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil); err != nil {
				return fmt.Errorf("step aside: %w", err)
			}
		}
		select {
		case <-time.After(stepPause):
		case <-ctx.Done():
			return fmt.Errorf("step aside: this node still leads %s: %w", strings.Join(led, ", "), context.Cause(ctx))
		}
	}
}

// stepPause is the time between two looks at whether the node still leads streams: a few times what the others need to
// take over.
const stepPause = 200 * time.Millisecond

// leads lists the streams of the engine's account that this server leads and that other servers have copies of.
func (s *Server) leads() (streams []string, err error) {
	info, err := s.nats.Jsz(&server.JSzOptions{Account: s.nats.GlobalAccount().GetName(), Streams: true})
	if err != nil {
		return nil, fmt.Errorf("ask which streams this node leads: %w", err)
	}
	for _, account := range info.AccountDetails {
		for _, one := range account.Streams {
			if c := one.Cluster; c != nil && c.Leader == s.Name() && len(c.Replicas) > 0 {
				streams = append(streams, one.Name)
			}
		}
	}
	return streams, nil
}

// ConnectSystem opens an in-process connection to the system account, in which the servers of the cluster answer
// questions about themselves. It fails with ErrAlone outside a cluster; other errors are those of Connect.
func (s *Server) ConnectSystem(opts ...nats.Option) (*nats.Conn, error) {
	if s.cluster == "" {
		return nil, ErrAlone
	}
	return s.connect(systemUser, systemInbox, opts...)
}

// Remove takes a node out of the cluster for good: its copies of streams are made on other nodes, and it does not count
// any more. A node whose data is gone must be removed before it comes back, under another name. nc is a connection to
// the system account. It fails when the leader does not know the node or refuses, or does not answer until ctx ends.
func Remove(ctx context.Context, nc *nats.Conn, node string) error {
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

// removeTime is how long one request waits. A request that is sent while the servers elect a leader is never answered.
const removeTime = 3 * time.Second

// removed reads the answer. After a repeated request a node that the cluster does not know was perhaps removed by an
// earlier request, or was never there: the two cannot be told apart.
func removed(node string, text []byte, again bool) error {
	var answer server.JSApiMetaServerRemoveResponse
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("remove node %s: read the answer: %w", node, err)
	}
	switch {
	case answer.Error == nil:
		return nil
	case again && answer.Error.ErrCode == uint16(server.JSClusterServerNotMemberErr):
		return fmt.Errorf("remove node %s: the cluster has no node of this name, or not any more: an earlier request "+
			"was not answered", node)
	}
	return fmt.Errorf("remove node %s: %w", node, answer.Error)
}

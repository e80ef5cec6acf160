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
	// Current: it was heard of lately and has taken in all that was decided.
	Current bool
	// Offline: it was not heard of lately.
	Offline bool
	// Seen is how long ago it was heard of; 0 of the node that was asked.
	Seen time.Duration
	// Behind is how many decisions it has not taken in.
	Behind uint64
}

// Members lists the nodes of the cluster. Only the leader knows how the other nodes are: asked at another node, it has
// of all nodes but the leader and that one only the names, and which of them are offline. It fails with ErrAlone
// outside a cluster.
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

// StepAside has the other nodes lead the streams that this one leads, so that nothing waits for an election once it
// ends. It returns when that is so, or with an error when ctx ends before: no other node may have all of a stream.
// Outside a cluster it does nothing.
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

// stepPause is after how long a node looks whether it still leads streams: a few times what the others take.
const stepPause = 200 * time.Millisecond

// leads are the streams of the engine's account that this server leads and others have copies of.
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

// ConnectSystem opens an in-process connection to the account in which the servers of the cluster speak about
// themselves. It fails with ErrAlone outside a cluster; other errors are those of Connect.
func (s *Server) ConnectSystem(opts ...nats.Option) (*nats.Conn, error) {
	if s.cluster == "" {
		return nil, ErrAlone
	}
	return s.connect(systemUser, systemInbox, opts...)
}

// Remove takes a node out of the cluster for good: the streams it had copies of get others, and it does not count any
// more. A node whose data is gone must be removed before it comes back, under another name. nc is a connection to the
// account in which the servers speak about themselves. It fails when the leader does not know the node or refuses, or
// does not answer until ctx ends.
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

// removed reads the answer. Where it was asked again, an earlier request may have removed the node, which cannot be
// told from one that was never there.
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

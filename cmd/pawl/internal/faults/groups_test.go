//go:build unix

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// groups says of each stream of which this node's server knows no leader, or has not taken in all, what its copy is at.
func (n *runningNode) groups(w http.ResponseWriter, _ *http.Request) {
	if n.server == nil {
		return
	}
	nc, err := n.server.ConnectSystem()
	if err != nil {
		answer(w, err)
		return
	}
	defer nc.Close()
	streams, raft := new(server.JSInfo), new(server.RaftzStatus)
	meta := new(server.RaftzStatus)
	err = errors.Join(
		n.examine(nc, "JSZ", server.JSzOptions{Accounts: true, Streams: true, RaftGroups: true}, streams),
		n.examine(nc, "RAFTZ", server.RaftzOptions{AccountFilter: server.DEFAULT_GLOBAL_ACCOUNT}, raft),
		n.examine(nc, "RAFTZ", server.RaftzOptions{}, meta))
	if err != nil {
		answer(w, err)
		return
	}
	for _, account := range streams.AccountDetails {
		for _, s := range account.Streams {
			group := (*raft)[account.Name][s.RaftGroup]
			current := s.Cluster != nil && s.Cluster.Leader != "" && !slices.ContainsFunc(s.Cluster.Replicas,
				func(p *server.PeerInfo) bool { return !p.Current || p.Offline })
			if current {
				continue
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"stream": s.Name, "messages": s.State.Msgs, "cluster": s.Cluster,
				"group": group})
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"meta": streams.Meta, "groups": meta})
}

// examine asks this node's server about itself.
func (n *runningNode) examine(nc *nats.Conn, what string, options, data any) error {
	text, err := json.Marshal(options)
	if err != nil {
		return err
	}
	m, err := nc.Request("$SYS.REQ.SERVER."+nc.ConnectedServerId()+"."+what, text, 10*time.Second)
	if err != nil {
		return fmt.Errorf("ask the server for %s: %w", what, err)
	}
	return json.Unmarshal(m.Data, &server.ServerAPIResponse{Data: data})
}

package ops

import (
	"cmp"
	"context"
	"slices"

	"github.com/pawl-run/pawl/ops/rpc"
)

type (
	// clusterNode is an engine that shares the work.
	clusterNode struct {
		Name    string `json:"name" jsonschema:"the node's name"`
		Engine  string `json:"engine" jsonschema:"the process that runs there"`
		URL     string `json:"url" jsonschema:"where it answers, as it says itself"`
		Version string `json:"version" jsonschema:"the version of its program"`
		Format  int    `json:"format" jsonschema:"the newest format of the log that it reads"`
		Leaving bool   `json:"leaving" jsonschema:"whether it is handing its partitions over, to end"`
		Owns    int    `json:"owns" jsonschema:"how many partitions it owns"`
	}
	// clusterPartition is a part of the log, with the engine that runs its workflows.
	clusterPartition struct {
		Partition int     `json:"partition" jsonschema:"its number"`
		Owner     *string `json:"owner" jsonschema:"the node whose engine runs its workflows, null while none does"`
		Epoch     uint64  `json:"epoch" jsonschema:"how often it was taken"`
		Lag       float64 `json:"lag" jsonschema:"for how many seconds the engine that answers may lack what others wrote"`
		Draining  bool    `json:"draining" jsonschema:"whether it is about to be handed over"`
		Stopped   *string `json:"stopped" jsonschema:"why it is out of service on the engine that answers, null otherwise"`
	}
	clusterAnswer struct {
		Shared     bool               `json:"shared" jsonschema:"whether engines share the work; an engine that is alone owns all"`
		Nodes      []clusterNode      `json:"nodes" jsonschema:"the engines that run, by name"`
		Partitions []clusterPartition `json:"partitions" jsonschema:"the partitions of the log, in order"`
	}
)

var clusterTable = []Operation{
	define(operation("getCluster", "GET /v1/cluster", rpc.Viewer,
		"Show which engines share the work, and which of them runs what"), getCluster),
}

func getCluster(_ context.Context, c *Call, _ *everything) (clusterAnswer, error) {
	engine := c.backend.cfg.Engine
	answer := clusterAnswer{Nodes: []clusterNode{}, Partitions: []clusterPartition{}}
	_, answer.Shared = engine.Behind()
	owns := map[string]int{}
	for _, p := range engine.Partitions() {
		one := clusterPartition{Partition: p.Number, Epoch: cmp.Or(p.Owner.Epoch, p.Epoch), Lag: p.Behind.Seconds(),
			Draining: p.Draining}
		if p.Held {
			one.Owner = &p.Owner.Node
			owns[p.Owner.Node]++
		}
		if p.Stopped != nil {
			text := p.Stopped.Error()
			one.Stopped = &text
		}
		answer.Partitions = append(answer.Partitions, one)
	}
	for name, n := range engine.Nodes() {
		answer.Nodes = append(answer.Nodes, clusterNode{Name: name, Engine: n.Engine, URL: n.URL, Version: n.Version,
			Format: n.Format, Leaving: n.Leaving, Owns: owns[name]})
	}
	slices.SortFunc(answer.Nodes, func(a, b clusterNode) int { return cmp.Compare(a.Name, b.Name) })
	return answer, nil
}

package rest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/doctor"
)

// Cluster is `pawl cluster`: the log that several engines share.
type Cluster struct {
	Init    ClusterInit    `cmd:"" help:"Make the log on NATS servers of your own, or of nodes that form a cluster, once; the nodes wait for it."`
	Status  clusterStatus  `cmd:"" help:"Show which engines share the work, and which of them runs what."`
	Upgrade clusterUpgrade `cmd:"" help:"Let the log hold what a newer pawl adds, once every node runs one; older ones cannot read it from then on."`
	Remove  ClusterRemove  `cmd:"" help:"Take a node out of a cluster that nodes form; one that lost its data comes back under another name."`
}

// clusterStatus is `pawl cluster status`.
type clusterStatus struct{ client.Flags }

// clusterUpgrade is `pawl cluster upgrade`.
type clusterUpgrade struct {
	config.ServerFlags
	Without []string `placeholder:"NODE" help:"Do not count this node, which is gone for good."`
}

// Run raises the format of the log.
func (c *clusterUpgrade) Run(ctx context.Context, conf config.Reader, screen term.Screen) error {
	at, err := reachCluster(ctx, conf, c.ServerFlags, term.Logger(screen))
	if err != nil {
		return err
	}
	if at == nil {
		return exit.Misconfigured("pawl cluster upgrade --nats nats://HOST:4222 --creds FILE, or --data DIR on the machine "+
			"of a node that runs", "no NATS servers are named that keep the log, and %s", noNode(conf))
	}
	defer at.nc.Close()
	done, err := storage.RaiseFormat(ctx, at.nc, term.Logger(screen), c.Without)
	if err != nil {
		return err
	}
	if done.To == done.From {
		fmt.Fprintf(screen.Out, "pawl: the log has format %d already, the newest that all nodes read\n", done.To)
		return nil
	}
	fmt.Fprintf(screen.Out, "pawl: the log has format %d now, and had %d; no older pawl reads it any more\n", done.To,
		done.From)
	return nil
}

// ClusterInit is `pawl cluster init`.
type ClusterInit struct {
	config.ServerFlags
	Partitions int `default:"16" help:"How many parts the log has, which cannot be changed later: at most so many engines can share the work."`
	Replicas   int `placeholder:"N" help:"How many servers keep each part (3 where the servers are a cluster, else 1)."`
}

// Run makes the streams and says how they are.
func (c *ClusterInit) Run(ctx context.Context, conf config.Reader, screen term.Screen) error {
	at, err := reachCluster(ctx, conf, c.ServerFlags, term.Logger(screen))
	if err != nil {
		return err
	}
	if at == nil {
		return exit.Misconfigured("pawl cluster init --nats nats://HOST:4222 --creds FILE; for nodes that form a cluster "+
			"themselves, pawl cluster init --data DIR on the machine of one that runs; one that starts is there in a moment",
			"no NATS servers are named that are to keep the log, and %s", noNode(conf))
	}
	defer at.nc.Close()
	logger := term.Logger(screen)
	made, err := storage.Form(ctx, at.nc, logger, at.layout(c.Partitions, c.Replicas))
	if err != nil {
		return err
	}
	fmt.Fprintf(screen.Out, "pawl: the log %s is there: %d partitions, each on %d servers\n", made.Installation,
		made.Partitions, made.Replicas)
	if made.Replicas < 3 {
		logger.Warn("the log is on one disk only, and is lost with it", "hint", "make it on three servers: --replicas 3")
	}
	if at.local {
		return nil // the nodes have started already, and wait for the log
	}
	fmt.Fprintln(screen.Out, "start a node on each machine: pawl serve --nats URL,URL --creds FILE --node NAME")
	return nil
}

// reached are the servers that keep a shared log, or are to keep one. local says that they are the servers inside of
// nodes, one of which runs on this machine.
type reached struct {
	nc    *nats.Conn
	local bool
}

// reachCluster connects to the servers that the flags name, or those of the node that runs on the data directory. It is
// nil where there are neither. The connection is the caller's.
func reachCluster(
	ctx context.Context, conf config.Reader, flags config.ServerFlags, logger *slog.Logger,
) (*reached, error) {
	s, err := conf.SharedSettings(config.Engine{}, flags, config.NodeFlags{}, nil)
	if err != nil {
		return nil, err
	}
	at := &reached{}
	if s.Servers.URL == "" {
		at.local, s.Servers.Nodes = true, true
		if s.Servers.URL, err = storage.LocalCluster(s.Data, false); err != nil {
			return nil, exit.Failed("", err)
		}
	}
	if s.Servers.URL == "" {
		return nil, nil
	}
	at.nc, err = storage.Servers(ctx, s.Servers, logger)
	return at, err
}

// noNode says that no node of a cluster runs on the data directory.
func noNode(conf config.Reader) string {
	file, err := conf.ReadConfig()
	if err != nil {
		return err.Error()
	}
	return "no node of a cluster runs on " + term.Path(conf.DataDir(file.Data))
}

// layout is how the servers keep a new log; 0 replicas means 3 in a cluster, and else 1.
func (r *reached) layout(partitions, replicas int) storage.Layout {
	if replicas == 0 {
		if replicas = 1; r.nc.ConnectedClusterName() != "" {
			replicas = 3
		}
	}
	return storage.Layout{Partitions: partitions, Replicas: replicas}
}

// ClusterRemove is `pawl cluster remove`.
type ClusterRemove struct {
	Node string `arg:"" help:"Name of the node, which is stopped for good."`
}

// removeTime bounds the wait for a leader of the cluster.
const removeTime = time.Minute

// Run takes the node out.
func (c *ClusterRemove) Run(ctx context.Context, conf config.Reader, screen term.Screen) error {
	file, err := conf.ReadConfig()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	if err := storage.RemoveNode(ctx, conf.DataDir(file.Data), c.Node, term.Logger(screen)); err != nil {
		return err
	}
	fmt.Fprintf(screen.Out, "pawl: node %s is out of the cluster; its machine may come back with empty data under "+
		"another name\n", c.Node)
	return nil
}

// shortages say what a node lacks, and what to do about it.
var shortages = map[lease.Shortage]string{
	lease.LacksDiskSpace: "lacks disk space (free some)",
	lease.LacksStore:     "cannot write its local store (its output says why)",
	lease.LacksRecords:   "makes no progress in reading the log (look at its disk, its load and its connection)",
}

// Run shows the nodes and what each runs.
func (c *clusterStatus) Run(engine *client.Finder, screen term.Screen) error {
	connected, err := engine.Connect(c.Flags)
	if err != nil {
		return err
	}
	type status struct {
		Shared bool
		Nodes  []struct {
			Name, Version, URL string
			Leaving, Outdated  bool
			Lacks              lease.Shortage
			Format, Owns       int
		}
		Partitions []struct {
			Partition int
			Owner     *string
			Epoch     uint64
			Lag       float64
			Stopped   *string
		}
		Copies *doctor.Copies
	}
	return client.Answer(connected, "getCluster", nil, func(s status) error {
		if !s.Shared {
			fmt.Fprintf(screen.Out, "this engine is alone and runs %s of the log\n",
				eventlog.Count(len(s.Partitions), "partition"))
			return nil
		}
		for _, n := range s.Nodes {
			leaving := ""
			switch {
			case n.Outdated:
				leaving = fmt.Sprintf(", reads the log up to format %d only: install the pawl of the other nodes there and "+
					"start it again", n.Format)
			case n.Lacks != "":
				leaving = ", " + shortages[n.Lacks] + ": its partitions go to nodes that lack nothing, and it takes some again " +
					"by itself"
			case n.Leaving:
				leaving = ", is leaving"
			}
			fmt.Fprintf(screen.Out, "node %s owns %s%s (%s, pawl %s)\n", n.Name, eventlog.Count(n.Owns, "partition"), leaving,
				n.URL, n.Version)
		}
		for _, p := range s.Partitions {
			owner, more := "no engine", []string{}
			if p.Owner != nil {
				owner = *p.Owner
			}
			if p.Lag > 1 {
				more = append(more, fmt.Sprintf("read here with a lag of %.0f s", p.Lag))
			}
			if p.Stopped != nil {
				more = append(more, "out of service here: "+*p.Stopped)
			}
			fmt.Fprintf(screen.Out, "partition %d: %s, epoch %d%s\n", p.Partition, owner, p.Epoch,
				strings.Join(append([]string{""}, more...), "; "))
		}
		sayCopies(screen, s.Copies)
		return nil
	})
}

// sayCopies prints whether the next node may be stopped.
func sayCopies(screen term.Screen, c *doctor.Copies) {
	if c == nil {
		fmt.Fprintln(screen.Out, "the servers do not say how the copies of the log are: stop no node now, and ask again")
		return
	}
	if c.Leader != nil {
		fmt.Fprintf(screen.Out, "server %s decides where copies are\n", *c.Leader)
	}
	if c.Current {
		fmt.Fprintln(screen.Out, "every copy of the log is current: one node may be stopped")
		return
	}
	fmt.Fprintln(screen.Out, "not every copy of the log is current: stop no node now")
	for _, l := range c.Lacking {
		switch {
		case l.Server == "":
			fmt.Fprintf(screen.Out, "stream %s: it has no leader, or too few copies\n", l.Stream)
		case l.Offline:
			fmt.Fprintf(screen.Out, "stream %s: the copy on %s is away\n", l.Stream, l.Server)
		case l.Lag == 0:
			fmt.Fprintf(screen.Out, "stream %s: the copy on %s does not answer\n", l.Stream, l.Server)
		default:
			fmt.Fprintf(screen.Out, "stream %s: the copy on %s is %d writes behind\n", l.Stream, l.Server, l.Lag)
		}
	}
}

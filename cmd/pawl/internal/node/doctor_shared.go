package node

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/ops/doctor"
	"github.com/pawl-run/pawl/ops/explain"
)

// mostBehind is how far a node may be behind the log before the doctor says so.
const mostBehind = 10 * time.Second

// examineShared looks at the servers that keep a shared log, and at the partitions.
func (n *Node) examineShared(ctx context.Context, r *doctor.HealthReport) {
	servers, err := doctor.Server(ctx, n.Data.Broker.NC)
	if err != nil {
		r.Advise("servers", doctor.Problem, err.Error(), "see whether the cluster has a leader: nats server report jetstream")
	}
	for _, f := range servers.Findings {
		switch {
		case !n.Data.Settings.Cluster.On():
		case f.Check == doctor.CheckSync: // each node says it of its own server
			f = n.sync()
		case f.Check == doctor.CheckPermissions: // the server inside has no users but those that pawl gives it
			continue
		}
		r.Findings = append(r.Findings, f)
	}
	if err := n.Engine.Outdated(); err != nil {
		r.Advise("format", doctor.Problem, err.Error(), explain.Hint(hint.Of(hint.Newer)))
	}
	partitions := n.Engine.Partitions()
	owned := 0
	for _, p := range partitions {
		name := fmt.Sprintf("partition %d", p.Number)
		switch {
		case p.Stopped != nil:
			r.Advise(name, doctor.Problem, p.Stopped.Error(), "pawl verify says all that is wrong; the other partitions go on")
		case !p.Held && !p.Owned:
			r.Advise(name, doctor.Problem, "no engine owns it now: its workflows wait", "start an engine, or wait: an engine "+
				"takes it within 30 s after its owner ended")
		case p.Behind > mostBehind:
			r.Advise(name, doctor.Weak, fmt.Sprintf("this node is up to %s behind the log", p.Behind.Round(time.Second)),
				"look at this machine's load and its connection to the servers")
		}
		if p.Owned {
			owned++
		}
	}
	r.Add("partitions", doctor.OK, fmt.Sprintf("this node owns %d of %d", owned, len(partitions)))
}

// sync says how the server inside syncs its writes.
func (n *Node) sync() doctor.Finding {
	if every := n.Data.Settings.SyncInterval; every > 0 {
		return doctor.Finding{Check: doctor.CheckSync, Verdict: doctor.Weak, Says: fmt.Sprintf("writes are synced every %s: "+
			"a loss of power can lose what was acknowledged in that time", every), Remedy: "start without --sync"}
	}
	return doctor.Finding{Check: doctor.CheckSync, Verdict: doctor.OK,
		Says: "each write is synced before it is acknowledged"}
}

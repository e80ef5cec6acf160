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

// ofServerInside adapts findings about servers in general to the server inside a node. How that server syncs is known
// here, and each node reports it for its own server. It has no users but those that pawl gives it.
func ofServerInside(found []doctor.Finding, sync doctor.Finding) (known []doctor.Finding) {
	for _, f := range found {
		switch f.Check {
		case doctor.CheckSync:
			known = append(known, sync)
		case doctor.CheckPermissions:
		default:
			known = append(known, f)
		}
	}
	return known
}

// examineShared looks at the servers that keep a shared log, and at the partitions.
func (n *Node) examineShared(ctx context.Context, r *doctor.HealthReport) {
	servers, err := doctor.Server(ctx, n.Data.Broker.NC)
	if err != nil {
		r.Advise("servers", doctor.Problem, err.Error(), "see whether the cluster has a leader: nats server report jetstream")
	}
	if n.Data.Settings.Cluster.On() {
		servers.Findings = ofServerInside(servers.Findings, syncOf(n.Data.Settings.SyncInterval))
	}
	r.Findings = append(r.Findings, servers.Findings...)
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

// syncOf says how the server inside syncs its writes: each write at once where the interval is 0.
func syncOf(every time.Duration) doctor.Finding {
	if every > 0 {
		return doctor.Finding{Check: doctor.CheckSync, Verdict: doctor.Weak, Says: fmt.Sprintf("writes are synced every %s: "+
			"a loss of power can lose what was acknowledged in that time", every), Remedy: "start without --sync"}
	}
	return doctor.Finding{Check: doctor.CheckSync, Verdict: doctor.OK,
		Says: "each write is synced before it is acknowledged"}
}

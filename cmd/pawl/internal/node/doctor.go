package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/version"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/eventlog/jslog"
	"github.com/pawl-run/pawl/ops/doctor"
)

// littleSpace is the free space below which a person should look at the disk, long before nothing new starts any more.
const littleSpace = 2 * schedule.GiB

// examine looks at this engine, its servers, its disk and its access.
func (n *Node) examine(ctx context.Context, r *doctor.HealthReport) {
	d := n.Data
	if d.Broker.Shared {
		r.Add("version", doctor.OK, "pawl "+version.String())
		n.examineShared(ctx, r)
		n.examineDamage(r)
		n.examineDisk(r)
		n.examineAccess(r)
		return
	}
	r.Add("version", doctor.OK, fmt.Sprintf("pawl %s with NATS %s inside", version.String(),
		d.Broker.NC.ConnectedServerVersion()))
	n.examineLog(ctx, r)
	r.Findings = append(r.Findings, syncOf(d.Settings.SyncInterval))
	n.examineDisk(r)
	n.examineAccess(r)
}

func (n *Node) examineLog(ctx context.Context, r *doctor.HealthReport) {
	d := n.Data
	if err := d.Broker.Healthy(); err != nil {
		r.Advise("server", doctor.Problem, err.Error(), "free space or replace the disk, and start the engine again: "+
			"nothing that was acknowledged is lost")
	} else {
		r.Add("server", doctor.OK, "the NATS server inside is healthy")
	}
	n.examineDamage(r)
	js, err := jetstream.New(d.Broker.NC)
	if err != nil {
		r.Advise("streams", doctor.Problem, err.Error(), "start the engine again")
		return
	}
	messages, bytes := uint64(0), uint64(0)
	for p := range d.Log.Partitions() {
		stream, err := js.Stream(ctx, jslog.StreamName("", p))
		if err != nil {
			r.Advise("streams", doctor.Problem, fmt.Sprintf("partition %d: %v", p, err), "pawl verify says what is missing")
			return
		}
		messages += stream.CachedInfo().State.Msgs
		bytes += stream.CachedInfo().State.Bytes
	}
	r.Advise("streams", doctor.OK, fmt.Sprintf("%s with %s, %s, on one disk",
		eventlog.Count(d.Log.Partitions(), "partition"), eventlog.Count(int(messages), "transition"),
		humanize.IBytes(bytes)), "copy the log to another machine: pawl backup DIR")
}

func (n *Node) examineDamage(r *doctor.HealthReport) {
	damage := n.Engine.Damage()
	for _, problem := range damage.Problems {
		r.Advise("log", doctor.Problem, problem, "pawl verify says all that is wrong; OPERATIONS.md says what to do")
	}
	if !damage.Done && len(damage.Problems) == 0 {
		r.Add("log", doctor.Unknown, "its check is under way")
	}
}

func (n *Node) examineDisk(r *doctor.HealthReport) {
	d := n.Data
	free, err := d.With.Free(d.Settings.Data)
	switch held := n.space.Check(); {
	case err != nil:
		r.Advise("disk", doctor.Problem, err.Error(), "make the data directory readable to the engine's user")
	case held != nil:
		r.Advise("disk", doctor.Problem, held.Error(), "free space: it goes on by itself")
	case free < littleSpace:
		r.Advise("disk", doctor.Weak, humanize.IBytes(uint64(free))+" free",
			"the log keeps everything: give it a larger disk")
	default:
		r.Add("disk", doctor.OK, humanize.IBytes(uint64(free))+" free")
	}
	for _, name := range []string{".", datadir.TokenFile} {
		path := filepath.Join(d.Settings.Data, name)
		info, err := os.Stat(path)
		switch {
		case err != nil:
			r.Advise("permissions", doctor.Problem, err.Error(), "give it to the engine's user")
		case info.Mode().Perm()&0o077 != 0 && name != ".":
			r.Advise("permissions", doctor.Problem, name+" can be read by other users", "chmod 600 "+path)
		case info.Mode().Perm()&0o022 != 0:
			r.Advise("permissions", doctor.Problem, "other users may write into the data directory", "chmod 700 "+path)
		}
	}
}

func (n *Node) examineAccess(r *doctor.HealthReport) {
	s := n.Data.Settings
	if s.NoAuth {
		r.Advise("access", doctor.Weak, "no token is asked for: every user and program of this machine may do everything",
			"start without --no-auth")
	} else {
		r.Add("access", doctor.OK, "a token is asked for")
	}
	if s.Plaintext {
		r.Advise("access", doctor.Weak, "it may answer unencrypted beyond this machine", "see that a proxy with TLS stands "+
			"before it and that nothing else reaches it, or give it --tls-cert and --tls-key")
	}
	if n.Data.Broker.ClientURL() != "" {
		r.Add("NATS users", doctor.OK, "tools, subscribers and operators have accounts of their own")
	}
}

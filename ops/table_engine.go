package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/lease"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/backup"
	"github.com/pawl-run/pawl/ops/doctor"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/subscription"
	"github.com/pawl-run/pawl/sandbox/worker"
)

// backupRequest asks for a part of a partition.
type backupRequest struct {
	Partition int    `json:"partition,omitempty" in:"query" jsonschema:"the partition, 0 when left out"`
	From      uint64 `json:"from,omitempty" in:"query" jsonschema:"the first sequence to read, 1 when left out"`
	Through   uint64 `json:"through" in:"query" jsonschema:"the last sequence to read: the end of the partition, as describeBackup has told it"`
}

var backupTable = []Operation{
	define(operation("describeBackup", "GET /v1/backup", rpc.Admin,
		"Say what there is to copy for a backup, and where the copy ends").private(), describeBackup),
	define(operation("readBackup", "GET /v1/backup/records", rpc.Admin,
		"Read stored transitions of a partition, byte by byte, for a backup").reading().private(), readBackup),
}

func describeBackup(ctx context.Context, c *Call, _ *noRequest) (backup.Description, error) {
	log, err := c.backend.copied()
	if err != nil {
		return backup.Description{}, err
	}
	return log.Describe(ctx)
}

func readBackup(ctx context.Context, c *Call, r *backupRequest) (backup.Page, error) {
	log, err := c.backend.copied()
	if err != nil {
		return backup.Page{}, err
	}
	page, err := log.Page(ctx, r.Partition, max(r.From, 1), r.Through)
	if errors.Is(err, backup.ErrUnknownPartition) {
		return page, rpc.Malformed("partition.unknown", "%v", err).WithHint("describeBackup tells how many there are")
	}
	return page, err
}

// copied opens the log for the copy of a backup.
func (b *backend) copied() (backup.Opened, error) {
	log, ok := b.cfg.Log.(eventlog.StoredLog)
	if !ok || b.cfg.Source == nil {
		return backup.Opened{}, rpc.Problemf(http.StatusNotFound, "backup.none", "this engine's log cannot be copied").
			WithHint("ask an engine that keeps its log in NATS")
	}
	return backup.Opened{Log: log, Source: b.cfg.Source()}, nil
}

var doctorTable = []Operation{
	define(operation("getHealthReport", "GET /v1/doctor", rpc.Admin,
		"Report what is wrong with this installation, each finding with a remedy").slow(), healthReport),
}

func healthReport(ctx context.Context, c *Call, _ *noRequest) (doctor.HealthReport, error) {
	if c.backend.cfg.Doctor == nil {
		return doctor.HealthReport{}, rpc.Problemf(http.StatusNotFound, "doctor.none", "this engine cannot look at itself").
			WithHint("ask an engine that pawl serve has started")
	}
	r := doctor.HealthReport{Findings: []doctor.Finding{}}
	c.backend.cfg.Doctor(ctx, &r)
	if err := c.backend.examineHooks(ctx, &r); err != nil {
		return r, err
	}
	c.backend.examineSubscriptions(&r)
	return r, nil
}

// examineHooks looks for hooks that refuse every request.
func (b *backend) examineHooks(ctx context.Context, r *doctor.HealthReport) error {
	for name, err := range b.workflows(ctx) {
		if err != nil {
			return err
		}
		state, ok := b.cfg.Engine.State(name)
		if !ok {
			continue
		}
		for _, h := range b.hooks.Refusing(&state) {
			r.Advise("hooks", doctor.Problem,
				fmt.Sprintf("hook %s of workflow %s refuses every request: %s", h.Name, name, h.Because), cmp.Or(h.Grant, h.Remedy))
		}
	}
	return nil
}

// examineSubscriptions looks for webhooks that are not delivered.
func (b *backend) examineSubscriptions(r *doctor.HealthReport) {
	for _, s := range b.troubled() {
		says := fmt.Sprintf("subscription %s is %s", s.Name, s.State)
		if s.Since != 0 {
			says += " since " + s.Since.String()
		}
		if s.Error != nil {
			says += ": " + *s.Error
		}
		switch {
		case s.State != subscription.StateParked:
			r.Advise("subscriptions", doctor.Weak, says, "see to its receiver: it is tried by itself")
		default:
			r.Advise("subscriptions", doctor.Problem, says, strings.Join(s.Commands, ", or "))
		}
	}
}

var workersTable = []Operation{
	define(operation("getWorkers", "GET /v1/workers", rpc.Viewer,
		"Show the processes that run scripts, and how they are confined"), getWorkers),
}

func getWorkers(_ context.Context, c *Call, _ *noRequest) (worker.Report, error) {
	if c.backend.cfg.Workers == nil {
		return worker.Report{}, rpc.Problemf(http.StatusNotFound, "workers.none", "this engine has no processes for scripts").
			WithHint("ask an engine that runs scripts")
	}
	return c.backend.cfg.Workers(), nil
}

type (
	advanceRequest struct {
		By string `json:"by" jsonschema:"how far, as in 90s, 5m or 24h; 0s only waits until everything has come to rest"`
	}
	clockAnswer struct {
		Now    eventlog.Instant `json:"now" jsonschema:"what schedules, waits and deadlines follow"`
		Manual bool             `json:"manual" jsonschema:"whether it stands still until it is advanced"`
	}
	advanceAnswer struct {
		Now eventlog.Instant `json:"now" jsonschema:"the clock's new time"`
	}
)

var clockTable = []Operation{
	define(operation("getClock", "GET /v1/clock", rpc.Viewer, "Read the engine's clock").narrowing(),
		func(_ context.Context, c *Call, _ *noRequest) (clockAnswer, error) {
			return clockAnswer{Now: eventlog.At(c.backend.cfg.Now()), Manual: c.backend.cfg.Engine.Manual()}, nil
		}),
	define(operation("advanceClock", "POST /v1/clock/advance", rpc.Operator,
		"Move a manual clock, stopping at each due moment, and answer once all is at rest").slow(), advanceClock),
}

func advanceClock(ctx context.Context, c *Call, r *advanceRequest) (advanceAnswer, error) {
	by, err := time.ParseDuration(r.By)
	if err != nil || by < 0 {
		return advanceAnswer{}, rpc.Problemf(http.StatusUnprocessableEntity, "clock.invalid",
			"by is %q; it must be a duration of 0s or more: a clock never goes back", eventlog.ClipName(r.By)).
			WithHint("write e.g. 90s, 5m or 24h")
	}
	now, err := c.backend.cfg.Engine.Advance(ctx, by)
	if err != nil {
		return advanceAnswer{}, err
	}
	return advanceAnswer{Now: eventlog.At(now)}, nil
}

type (
	// clusterNode is an engine that shares the work.
	clusterNode struct {
		Name    string `json:"name" jsonschema:"the node's name"`
		Engine  string `json:"engine" jsonschema:"the process that runs there"`
		URL     string `json:"url" jsonschema:"where it answers, as it says itself"`
		Version string `json:"version" jsonschema:"the version of its program"`
		Format  int    `json:"format" jsonschema:"the newest format of the log that it reads"`
		Leaving bool   `json:"leaving" jsonschema:"whether it hands its partitions over and takes no other ones"`
		// Lacks makes it Leaving for a time.
		Lacks *lease.Shortage `json:"lacks" jsonschema:"what it lacks to begin anything, null for nothing; its partitions go to nodes that lack nothing, as far as there are any"`
		// Outdated nodes are Leaving for good.
		Outdated bool `json:"outdated" jsonschema:"whether its pawl cannot read the log any more and has to be replaced by a newer one"`
		Owns     int  `json:"owns" jsonschema:"how many partitions it owns"`
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
		Copies     *doctor.Copies     `json:"copies" jsonschema:"the copies of the log on its servers; null where the engine is alone, or the servers do not answer"`
	}
)

var clusterTable = []Operation{
	define(operation("getCluster", "GET /v1/cluster", rpc.Viewer,
		"Show which engines share the work, and which of them runs what"), getCluster),
}

// copiesTime bounds the question about copies: a question that is sent during an election is never answered.
const copiesTime = 3 * time.Second

func getCluster(ctx context.Context, c *Call, _ *noRequest) (clusterAnswer, error) {
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
		one := clusterNode{Name: name, Engine: n.Engine, URL: n.URL, Version: n.Version, Format: n.Format,
			Leaving: n.Leaving, Outdated: n.Outdated, Owns: owns[name]}
		if n.Lacks != "" {
			one.Lacks = &n.Lacks
		}
		answer.Nodes = append(answer.Nodes, one)
	}
	if look := c.backend.cfg.Copies; look != nil {
		limited, cancel := context.WithTimeout(ctx, copiesTime)
		defer cancel()
		if copies, err := look(limited); err == nil {
			answer.Copies = &copies
		}
	}
	slices.SortFunc(answer.Nodes, func(a, b clusterNode) int { return cmp.Compare(a.Name, b.Name) })
	return answer, nil
}

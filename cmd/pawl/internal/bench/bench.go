package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/storage"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector/httpcall"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
)

// Bench measures the whole way of an item on this machine: pushed in over HTTP from another
// process, prepared, sent by one POST to that process, and an event published for it; everything
// synced.
type Bench struct {
	Seconds     float64 `help:"Seconds per stage." default:"8"`
	InFlight    []int   `help:"Items in flight, one workflow each; 1000 are the most." default:"1,64,256"`
	OneWorkflow int     `help:"Items in flight of the stages with one workflow, whose consumer has that concurrency; 0 leaves these out, 256 is the most." default:"64"`
	Dir         string  `help:"Directory whose disk is measured; a temporary one is made in it and removed." default:"." type:"path"`
	Feed        bool    `help:"Publish the feed meanwhile, as up does with --feed, and follow it from the other process."`
	Rate        float64 `help:"Push so many items a second at most; 0 for as many as go through." placeholder:"N"`
	JSON        bool    `help:"Print one JSON line only." name:"json"`
	Starts      bool    `help:"Then measure how long an engine takes to start on the log that was written."`
	CPUProfile  string  `name:"cpu-profile" help:"Write a CPU profile of the measured stages to this file." type:"path" placeholder:"FILE"`
}

// stage is the result of one load.
type stage struct {
	load
	worldStage
	CPU        time.Duration
	Disk       int64
	Syncs      uint64
	Durable    uint64 // transitions written
	PeakMemory int64
}

// mostInFlight is a little less than the connections that an engine keeps open: each item in flight is pushed over a
// connection of its own.
const mostInFlight = 1000

// check refuses numbers with which nothing can be measured.
func (c *Bench) check() error {
	wrong := func(flag string, given any, fix string) error {
		return exit.Misconfigured(fix, "--%s %v cannot be measured", flag, given)
	}
	for _, n := range c.InFlight {
		if n < 1 || n > mostInFlight {
			return wrong("in-flight", n, fmt.Sprintf("name numbers from 1 to %d", mostInFlight))
		}
	}
	switch { // written so that NaN is refused too
	case len(c.InFlight) == 0 && c.OneWorkflow == 0:
		return wrong("in-flight", "without a number", "name what to measure, such as --in-flight 64")
	case c.OneWorkflow < 0 || c.OneWorkflow > eventlog.MaxConcurrency:
		return wrong("one-workflow", c.OneWorkflow, fmt.Sprintf("name a number from 0 to %d", eventlog.MaxConcurrency))
	case !(c.Seconds >= 0.001) || c.Seconds > math.MaxInt32:
		return wrong("seconds", c.Seconds, "name how many seconds each stage takes, such as 3")
	case !(c.Rate >= 0) || c.Rate > 0 && c.Rate*c.Seconds < 1:
		return wrong("rate", c.Rate, "name how many items a second, so that each stage has one; 0 for as many as go through")
	}
	return nil
}

// Run measures each stage and prints its result.
func (c *Bench) Run(ctx context.Context, screen term.Screen, with storage.Parts) error {
	if err := c.check(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.Dir, ".pawl-bench-")
	if err != nil {
		return exit.Failed("choose another with --dir DIR", fmt.Errorf("create a directory for the measurement: %w", err))
	}
	defer func() { _ = os.RemoveAll(dir) }()
	world, err := startWorld(ctx)
	if err != nil {
		return exit.Failed("", err)
	}
	defer world.stop()

	logger := slog.New(slog.NewTextHandler(screen.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s := config.Settings{Data: filepath.Join(dir, "data"), HTTP: "127.0.0.1:0", Policies: schedule.Default(),
		Feed: c.Feed}
	if c.Feed {
		s.NATSListen = "127.0.0.1:0" // for the follower
	}
	s.Connectors.HTTP = &httpcall.Config{Hosts: map[string]httpcall.HostConfig{world.sink: {Private: true}}}
	go node.TendHeap(ctx) // as up and serve do
	d, err := storage.Open(ctx, s, with, logger)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	n, err := node.Compose(ctx, d, world.observe, "bench")
	if err != nil {
		return err
	}
	stop, err := startNode(ctx, n)
	if err != nil {
		return err
	}
	if err := c.prepare(world, s.Data); err != nil {
		_ = stop()
		return exit.Failed("", err)
	}
	if c.CPUProfile != "" {
		f, err := os.Create(c.CPUProfile)
		if err != nil {
			return exit.Failed("", fmt.Errorf("create the profile: %w", err))
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return exit.Failed("", fmt.Errorf("start the profile: %w", err))
		}
		defer pprof.StopCPUProfile()
	}
	stages, err := c.measure(ctx, screen, n, world)
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	if err != nil {
		return exit.Failed("", err)
	}
	if err := c.report(screen, stages); err != nil || !c.Starts {
		return err
	}
	if err := d.Close(); err != nil {
		return exit.Failed("", err)
	}
	if err := measureStarts(ctx, screen, s.Data); err != nil {
		return exit.Failed("", err)
	}
	return nil
}

// prepare tells the other process how fast to push, and what to follow.
func (c *Bench) prepare(world *otherProcess, data string) error {
	if c.Rate > 0 {
		world.pace(c.Rate)
	}
	if !c.Feed {
		return nil
	}
	url, err := os.ReadFile(filepath.Join(data, datadir.NATSDir, embeddednats.Subscriber+".url"))
	if err != nil {
		return fmt.Errorf("read the URL of the feed: %w", err)
	}
	return world.follow(strings.TrimSpace(string(url)))
}

func (c *Bench) measure(
	ctx context.Context, screen term.Screen, n *node.Node, world *otherProcess,
) ([]stage, error) {
	loads, deployed := c.loads(), map[string]bool{}
	for _, l := range loads {
		for _, source := range l.sources(world.sink) {
			if deployed[source] {
				continue
			}
			deployed[source] = true
			request := engine.DeployRequest{Source: source, Filename: "bench.ts", GrantUsed: true}
			result, err := n.Engine.Deploy(ctx, eventlog.System, request)
			if err != nil {
				return nil, fmt.Errorf("deploy the workflow to measure: %w", err)
			}
			if result.Refused {
				return nil, fmt.Errorf("the workflow to measure was refused: %+v", result.Problems)
			}
		}
	}
	if err := n.Engine.WaitIdle(ctx); err != nil {
		return nil, err
	}
	length := time.Duration(c.Seconds * float64(time.Second))
	var stages []stage
	for _, l := range loads {
		if !c.JSON {
			fmt.Fprintf(screen.Err, "measuring for %s, in flight: %s …\n", length, l)
		}
		// Warm up; this is not counted.
		if _, err := world.run(ctx, n.Endpoint.URL(), n.Token, l, min(length, time.Second)); err != nil {
			return nil, err
		}
		s, err := c.stage(ctx, n, world, l, length)
		if err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	return stages, nil
}

func (c *Bench) stage(
	ctx context.Context, n *node.Node, world *otherProcess, l load, length time.Duration,
) (stage, error) {
	s := stage{load: l}
	cpu, disk, stats := processCPU(world.pid()), diskUse(n.Data.Settings.Data), n.Data.Log.Stats()
	result, err := world.run(ctx, n.Endpoint.URL(), n.Token, l, length)
	if err != nil {
		return s, err
	}
	if err := n.Engine.WaitIdle(ctx); err != nil {
		return s, err
	}
	s.worldStage = result
	s.CPU, s.PeakMemory = processCPU(world.pid())-cpu, proportionalMemory(world.pid())
	s.Disk = diskUse(n.Data.Settings.Data) - disk
	now := n.Data.Log.Stats()
	s.Syncs = now.Publishes - stats.Publishes + now.Batches - stats.Batches + now.MarkSyncs - stats.MarkSyncs
	s.Durable = now.Publishes - stats.Publishes + now.BatchedMessages - stats.BatchedMessages
	if result.Items == 0 {
		return s, fmt.Errorf("no item was finished with %s in flight", l)
	}
	if result.Twice > 0 || result.Effects != result.Items {
		return s, fmt.Errorf("%d items had %d effects, %d of them more than once", result.Items, result.Effects,
			result.Twice)
	}
	return s, nil
}

func (c *Bench) report(screen term.Screen, stages []stage) error {
	line := map[string]float64{}
	round := func(v float64) float64 {
		r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 3, 64), 64)
		return r
	}
	t := table.NewWriter()
	header := table.Row{"in flight", "items/s", "p50 ms", "p99 ms", "CPU ms/item", "memory MiB", "disk B/item",
		"syncs/item", "transitions/s"}
	if c.Feed {
		header = append(header, "facts/item", "fact p50 ms", "fact p99 ms", "fact most ms")
	}
	t.AppendHeader(header)
	for _, s := range stages {
		items, seconds := float64(s.Items), s.Elapsed.Seconds()
		suffix := "_" + s.figures
		line["items_per_s"+suffix] = round(items / seconds)
		line["p50_ms"+suffix] = round(s.P50.Seconds() * 1e3)
		line["p99_ms"+suffix] = round(s.P99.Seconds() * 1e3)
		line["syncs_per_item"+suffix] = round(float64(s.Syncs) / items)
		line["transitions_per_s"+suffix] = round(float64(s.Durable) / seconds)
		cpu, memory := round(s.CPU.Seconds()*1e3/items), round(float64(s.PeakMemory)/(1<<20))
		disk := round(float64(s.Disk) / items)
		if s.workflow == "" {
			// The keys without a suffix are those of the last stage of many workflows.
			line["cpu_ms_per_item"], line["memory_mib"], line["disk_bytes_per_item"] = cpu, memory, disk
		} else {
			line["cpu_ms_per_item"+suffix] = cpu
		}
		row := table.Row{
			s.load, round(items / seconds), round(s.P50.Seconds() * 1e3), round(s.P99.Seconds() * 1e3),
			cpu, memory, disk, line["syncs_per_item"+suffix], line["transitions_per_s"+suffix],
		}
		if c.Feed {
			line["facts_per_item"+suffix] = round(float64(s.Feed.Facts) / items)
			line["feed_p50_ms"+suffix] = round(s.Feed.LagP50.Seconds() * 1e3)
			line["feed_p99_ms"+suffix] = round(s.Feed.LagP99.Seconds() * 1e3)
			line["feed_most_ms"+suffix] = round(s.Feed.LagMost.Seconds() * 1e3)
			row = append(row, line["facts_per_item"+suffix], line["feed_p50_ms"+suffix], line["feed_p99_ms"+suffix],
				line["feed_most_ms"+suffix])
		}
		t.AppendRow(row)
	}
	if !c.JSON {
		fmt.Fprintln(screen.Out, t.Render())
	}
	out, err := json.Marshal(line)
	if err != nil {
		return exit.Failed("", fmt.Errorf("write the result: %w", err))
	}
	fmt.Fprintln(screen.Out, string(out))
	return nil
}

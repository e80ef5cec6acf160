package main

import (
	"github.com/alecthomas/kong"

	"github.com/pawl-run/pawl/cmd/pawl/internal/bench"
	"github.com/pawl-run/pawl/cmd/pawl/internal/commands/act"
	"github.com/pawl-run/pawl/cmd/pawl/internal/commands/look"
	"github.com/pawl-run/pawl/cmd/pawl/internal/commands/rest"
	"github.com/pawl-run/pawl/cmd/pawl/internal/commands/run"
	"github.com/pawl-run/pawl/cmd/pawl/internal/commands/scripts"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/version"
)

// commandLine is the grammar: flags of all commands, then the commands in the order of the help.
type commandLine struct {
	config.Common

	Up    run.Up    `cmd:"" group:"run" help:"Run an engine with the given workflows, here and now."`
	Serve run.Serve `cmd:"" group:"run" help:"Run an engine with the workflows that it has."`

	Init     scripts.Init       `cmd:"" group:"scripts" help:"Write what a folder of workflows begins with: a script, its tests, its configuration, types, and the contract for coding agents."`
	Deploy   scripts.Deploy     `cmd:"" group:"scripts" help:"Deploy a script to a running engine."`
	Validate scripts.Validate   `cmd:"" group:"scripts" help:"Check a script as a deploy would."`
	Diff     scripts.Diff       `cmd:"" group:"scripts" help:"Say what a new script would have done differently in recorded runs."`
	Test     scripts.Test       `cmd:"" group:"scripts" help:"Run the tests that stand beside scripts."`
	MCP      scripts.MCPCommand `cmd:"" name:"mcp" group:"scripts" help:"Offer the engine to a language model, over the Model Context Protocol."`
	Types    scripts.Types      `cmd:"" group:"scripts" help:"Write or print the TypeScript types for scripts, and for what they can call."`

	Workflows  look.Workflows  `cmd:"" group:"look" help:"List and show workflows."`
	Versions   look.Versions   `cmd:"" group:"look" help:"List, show and compare the versions of a workflow's script, and roll back."`
	Effects    look.Effects    `cmd:"" group:"look" help:"Count what versions of a workflow's script have changed outside."`
	Runs       look.Runs       `cmd:"" group:"look" help:"List and show runs, the attempts of handlers."`
	Events     look.Events     `cmd:"" group:"look" help:"List and show the workflows' events."`
	Jobs       look.Jobs       `cmd:"" group:"look" help:"List and show how events are being processed."`
	Mutations  look.Mutations  `cmd:"" group:"look" help:"List and show changes made outside."`
	Inputs     look.Inputs     `cmd:"" group:"look" help:"List and show what came in from outside."`
	Sessions   look.Sessions   `cmd:"" group:"look" help:"List and show bursts of runs."`
	Connectors look.Connectors `cmd:"" group:"look" help:"List and show connectors."`
	Hooks      look.Hooks      `cmd:"" group:"look" help:"List the addresses that other systems post to, and try them."`
	Workers    look.Workers    `cmd:"" group:"look" help:"Show the processes that run scripts, and how they are confined."`
	Why        look.Why        `cmd:"" group:"look" help:"Say what a workflow is doing or waiting for."`
	Log        look.Log        `cmd:"" group:"look" help:"Print the log, transition by transition."`
	State      look.State      `cmd:"" group:"look" help:"Rebuild a workflow's state, also of the past."`
	Doctor     look.Doctor     `cmd:"" group:"look" help:"Report what is wrong with the installation, and what to do about it."`
	Verify     look.Verify     `cmd:"" group:"look" help:"Check the whole log; nothing is changed unless --accept-loss says so."`

	Push     act.Push     `cmd:"" group:"act" help:"Push events into a topic of a workflow, from outside."`
	Pause    act.Pause    `cmd:"" group:"act" help:"Hold a workflow after the run that has begun."`
	Resume   act.Resume   `cmd:"" group:"act" help:"End a hold."`
	Archive  act.Archive  `cmd:"" group:"act" help:"Stop a workflow for good."`
	RunNow   act.RunNow   `cmd:"" name:"run-now" group:"act" help:"Run a workflow's producers now."`
	Approve  act.Approve  `cmd:"" group:"act" help:"Send a mutation that waits for approval, exactly as recorded."`
	Reject   act.Reject   `cmd:"" group:"act" help:"Go on without a mutation that waits for approval."`
	Resolve  act.Resolve  `cmd:"" group:"act" help:"Say what became of a mutation whose connector cannot tell: --happened, --did-not-happen, --skip or --ask-again."`
	Skip     act.Skip     `cmd:"" group:"act" help:"End events unprocessed, except those that have a call whose outcome is not known."`
	Cancel   act.Cancel   `cmd:"" group:"act" help:"Cancel the jobs of events that no run is processing."`
	Redrive  act.Redrive  `cmd:"" group:"act" help:"Let cancelled, discarded and held events go on."`
	Repair   act.Repair   `cmd:"" group:"act" help:"Give a workflow in maintenance its repaired script."`
	Maintain act.Maintain `cmd:"" group:"act" help:"Have scripts that fail repaired by a program, such as a language model."`
	Grants   act.Grants   `cmd:"" group:"act" help:"Show or change what a workflow may do."`

	Subscriptions rest.Subscriptions `cmd:"" group:"rest" help:"List outgoing webhooks, and let a parked one go on."`
	Open          rest.Open          `cmd:"" group:"rest" help:"Open the console in a browser, by a link that works once, within a minute."`
	Backup        rest.Backup        `cmd:"" group:"rest" help:"Copy the log into a folder, while the engine runs or when it is stopped."`
	Restore       rest.Restore       `cmd:"" group:"rest" help:"Make a log of a backup, where there is none."`
	Cluster       rest.Cluster       `cmd:"" group:"rest" help:"Make and look at a log that several engines share."`
	Tokens        rest.Tokens        `cmd:"" group:"rest" help:"Make, list and revoke the named tokens that callers need."`
	Logins        rest.Logins        `cmd:"" group:"rest" help:"List the browsers that are logged in to the console, and end a login."`
	Clock         rest.Clock         `cmd:"" group:"rest" help:"Read an engine's clock, or move it if it runs with --clock=manual."`
	Bench         bench.Bench        `cmd:"" group:"rest" help:"Measure this machine: items through the whole engine, all synced."`
	BenchWorld    bench.World        `cmd:"" name:"bench-world" hidden:""`
	BenchStart    bench.StartCommand `cmd:"" name:"bench-start" hidden:""`

	AsyncAPI rest.AsyncAPI `cmd:"" name:"asyncapi" group:"rest" help:"Print the AsyncAPI document of the feed."`

	ToolProcess run.ToolProcess `cmd:"" name:"tool-process" hidden:""`

	Completion rest.Completion `cmd:"" group:"rest" help:"Print a completion script for a shell."`
	Version    version.Cmd     `cmd:"" group:"rest" help:"Print the version."`
}

// groups are the headings of the help.
var groups = []kong.Group{
	{Key: "run", Title: "Run"},
	{Key: "scripts", Title: "Scripts"},
	{Key: "look", Title: "Look"},
	{Key: "act", Title: "Act"},
	{Key: "rest", Title: "Rest"},
}

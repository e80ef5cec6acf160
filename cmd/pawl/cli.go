package main

import "github.com/alecthomas/kong"

// commandLine is the grammar: flags of all commands, then the commands in the order of the help.
type commandLine struct {
	common

	Up    upCmd    `cmd:"" group:"run" help:"Run an engine with the given workflows, here and now."`
	Serve serveCmd `cmd:"" group:"run" help:"Run an engine with the workflows that it has."`

	Deploy   deployCmd   `cmd:"" group:"scripts" help:"Deploy a script to a running engine."`
	Validate validateCmd `cmd:"" group:"scripts" help:"Check a script as a deploy would."`
	Types    typesCmd    `cmd:"" group:"scripts" help:"Print the TypeScript types for scripts."`

	Workflows  workflowsCmd  `cmd:"" group:"look" help:"List and show workflows."`
	Runs       runsCmd       `cmd:"" group:"look" help:"List and show runs, the attempts of handlers."`
	Events     eventsCmd     `cmd:"" group:"look" help:"List and show the workflows' events."`
	Jobs       jobsCmd       `cmd:"" group:"look" help:"List and show how events are being processed."`
	Mutations  mutationsCmd  `cmd:"" group:"look" help:"List and show changes made outside."`
	Inputs     inputsCmd     `cmd:"" group:"look" help:"List and show what came in from outside."`
	Sessions   sessionsCmd   `cmd:"" group:"look" help:"List and show bursts of runs."`
	Connectors connectorsCmd `cmd:"" group:"look" help:"List and show connectors."`
	Workers    workersCmd    `cmd:"" group:"look" help:"Show the processes that run scripts, and how they are confined."`
	Why        whyCmd        `cmd:"" group:"look" help:"Say what a workflow is doing or waiting for."`
	Log        logCmd        `cmd:"" group:"look" help:"Print the log, transition by transition."`
	State      stateCmd      `cmd:"" group:"look" help:"Rebuild a workflow's state, also of the past."`
	Verify     verifyCmd     `cmd:"" group:"look" help:"Check the whole log."`

	Push    pushCmd    `cmd:"" group:"act" help:"Push events into a topic of a workflow, from outside."`
	Pause   pauseCmd   `cmd:"" group:"act" help:"Hold a workflow after the run that has begun."`
	Resume  resumeCmd  `cmd:"" group:"act" help:"End a hold."`
	Archive archiveCmd `cmd:"" group:"act" help:"Stop a workflow for good."`
	RunNow  runNowCmd  `cmd:"" name:"run-now" group:"act" help:"Run a workflow's producers now."`
	Approve approveCmd `cmd:"" group:"act" help:"Let a mutation that asks leave, exactly as recorded."`
	Reject  rejectCmd  `cmd:"" group:"act" help:"Go on without a mutation that asks."`
	Resolve resolveCmd `cmd:"" group:"act" help:"Say what became of a mutation whose connector cannot tell: --happened, --did-not-happen, --skip or --try-again."`
	Skip    skipCmd    `cmd:"" group:"act" help:"End events unprocessed, whatever their jobs are doing."`
	Cancel  cancelCmd  `cmd:"" group:"act" help:"Cancel the jobs of events that nobody is processing."`
	Redrive redriveCmd `cmd:"" group:"act" help:"Make cancelled or discarded jobs available again."`
	Repair  repairCmd  `cmd:"" group:"act" help:"Give a workflow in maintenance its repaired script."`
	Grants  grantsCmd  `cmd:"" group:"act" help:"Show or change what a workflow may do."`

	Tokens     tokensCmd     `cmd:"" group:"rest" help:"Say who may call: make, list and revoke named tokens."`
	Clock      clockCmd      `cmd:"" group:"rest" help:"Read an engine's clock, or move it if it runs with --clock=manual."`
	Bench      benchCmd      `cmd:"" group:"rest" help:"Measure this machine: items through the whole engine, all synced."`
	BenchWorld benchWorldCmd `cmd:"" name:"bench-world" hidden:""`
	BenchStart benchStartCmd `cmd:"" name:"bench-start" hidden:""`

	Worker    workerCmd    `cmd:"" hidden:""`
	ParseMail parseMailCmd `cmd:"" hidden:""`

	Completion completionCmd `cmd:"" group:"rest" help:"Print a completion script for a shell."`
	Version    versionCmd    `cmd:"" group:"rest" help:"Print the version."`
}

// groups are the headings of the help.
var groups = []kong.Group{
	{Key: "run", Title: "Run"},
	{Key: "scripts", Title: "Scripts"},
	{Key: "look", Title: "Look"},
	{Key: "act", Title: "Act"},
	{Key: "rest", Title: "Rest"},
}

// client are the flags of the commands that talk to an engine.
type clientFlags struct {
	URL  string `name:"url" placeholder:"URL" setting:"" help:"The engine's address; else the one in DATA/http.url, else http of pawl.yaml, else 127.0.0.1:7070."`
	NATS string `name:"nats" placeholder:"URL|@FILE" setting:"" help:"Reach the engine over NATS instead: the URL of its operators, which holds a password, or @ and the file with it; an engine with --nats-listen writes DATA/nats/operator.url."`
	As   string `placeholder:"NAME" setting:"" help:"Who you are, for the record ($USER)."`
	JSON bool   `name:"json" help:"Print JSON, as the HTTP interface answers it; lists begin with the newest (order=desc)."`
}

package main

import "slices"

// asAskedElsewhere translates command lines that are common with other programs: no arguments and `help` are --help,
// `help COMMAND` is `COMMAND --help`, --version is `version`.
func asAskedElsewhere(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "--version":
		return []string{"version"}
	}
	return args
}

// commandsElsewhere has the names that other programs give to what a command of pawl does, with the hint that names it.
// A command with a similar spelling is no help there: it may do something else (stop is not skip).
var commandsElsewhere = map[string]string{
	"delete":    archived,
	"describe":  shown,
	"disable":   "pawl pause WORKFLOW holds a workflow; pawl archive WORKFLOW stops it for good",
	"dlq":       "pawl jobs list --state discarded shows what was put aside; pawl redrive brings it back",
	"docs":      guided,
	"down":      stopped,
	"enable":    resumed,
	"get":       shown,
	"guide":     guided,
	"history":   "pawl log --workflow WORKFLOW prints the transitions; pawl runs list shows the runs",
	"inspect":   shown,
	"kill":      cancelled,
	"list":      listed,
	"logs":      "pawl runs show WORKFLOW RUN prints what a script has logged; pawl log prints the transitions",
	"ls":        listed,
	"ps":        "pawl workflows list; pawl workers shows the processes that run scripts",
	"publish":   pushed,
	"purge":     "pawl skip WORKFLOW --where state=available ends the available events; nothing is deleted",
	"remove":    archived,
	"replay":    redriven + "; pawl state rebuilds a past state",
	"requeue":   redriven,
	"rerun":     redriven,
	"restart":   "pawl resume WORKFLOW ends a hold; to restart an engine, end it (Ctrl-C, SIGTERM) and start it again",
	"retry":     redriven,
	"rm":        archived,
	"rollback":  "pawl versions rollback WORKFLOW VERSION deploys the script of a former version again",
	"run":       "pawl up FILE runs an engine with a script; pawl run-now WORKFLOW runs the producers",
	"send":      pushed,
	"start":     "pawl up FILE runs an engine with a script; pawl resume WORKFLOW ends a hold",
	"status":    "pawl why says what a workflow does or waits for; pawl doctor says what is wrong with the engine",
	"stop":      stopped,
	"tail":      "pawl log --follow prints the transitions as they come",
	"terminate": cancelled,
	"top":       "pawl workers shows the processes that run scripts; pawl workflows list shows the workflows",
	"trigger":   "pawl push publishes an event; pawl run-now WORKFLOW runs the producers",
	"undeploy":  archived,
	"unpause":   resumed,
}

// The hints that several names share.
const (
	archived  = "pawl archive WORKFLOW stops a workflow for good"
	cancelled = "pawl cancel ends jobs that no run is processing; pawl pause WORKFLOW holds a workflow"
	guided    = "pawl init writes the contract of scripts into AGENTS.md; pawl mcp offers the whole guide"
	listed    = "pawl workflows list; the same for events, jobs, runs, mutations, inputs and sessions"
	pushed    = "pawl push publishes an event"
	redriven  = "pawl redrive WORKFLOW TOPIC ID lets a held, cancelled or discarded event go on; for many: --where"
	resumed   = "pawl resume WORKFLOW ends a hold"
	shown     = "pawl workflows show WORKFLOW; the same for events, jobs, runs, mutations, inputs and sessions"
	stopped   = "pawl pause WORKFLOW holds a workflow; an interrupt (Ctrl-C, SIGTERM) ends an engine"
)

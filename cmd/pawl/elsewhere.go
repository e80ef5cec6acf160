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
	"delete":    "pawl archive WORKFLOW stops a workflow for good",
	"kill":      "pawl cancel WORKFLOW ends jobs that no run is processing; pawl pause WORKFLOW holds a workflow",
	"list":      "pawl workflows list; the same for events, jobs, runs, mutations, inputs and sessions",
	"logs":      "pawl runs show WORKFLOW RUN prints what a script has logged; pawl log prints the transitions",
	"ls":        "pawl workflows list; the same for events, jobs, runs, mutations, inputs and sessions",
	"ps":        "pawl workflows list; pawl workers shows the processes that run scripts",
	"remove":    "pawl archive WORKFLOW stops a workflow for good",
	"replay":    "pawl redrive WORKFLOW lets held, cancelled and discarded events go on; pawl state rebuilds a past state",
	"restart":   "pawl resume WORKFLOW ends a hold; pawl redrive WORKFLOW lets held, cancelled and discarded events go on",
	"retry":     "pawl redrive WORKFLOW lets held, cancelled and discarded events go on",
	"rm":        "pawl archive WORKFLOW stops a workflow for good",
	"rollback":  "pawl versions rollback WORKFLOW deploys the script of a former version again",
	"start":     "pawl up FILE runs an engine with a script; pawl resume WORKFLOW ends a hold",
	"status":    "pawl why says what a workflow does or waits for; pawl doctor says what is wrong with the engine",
	"stop":      "pawl pause WORKFLOW holds a workflow; an interrupt (Ctrl-C, SIGTERM) ends an engine",
	"terminate": "pawl cancel WORKFLOW ends jobs that no run is processing; pawl pause WORKFLOW holds a workflow",
	"trigger":   "pawl push publishes an event; pawl run-now WORKFLOW runs the producers",
}

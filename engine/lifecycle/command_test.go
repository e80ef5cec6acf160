package lifecycle_test

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/ops/replay"
)

// looks says whether a command changes nothing.
func looks(command string) bool {
	for _, word := range []string{" show ", " list ", " log ", " grants ", " verify"} {
		if strings.Contains(command, word) {
			return true
		}
	}
	return false
}

// command carries out a command line through the operation that it stands for.
func (l *life) command(line string) {
	l.t.Helper()
	words := strings.Fields(line)
	flags := map[string]any{}
	var args []string
	for i := 1; i < len(words); i++ {
		switch name, ok := strings.CutPrefix(words[i], "--"); {
		case !ok:
			args = append(args, words[i])
		case i+1 < len(words) && (name == "workflow" || name == "status" || name == "state" || name == "where" ||
			name == "topic" || name == "held"):
			i++
			flags[name] = words[i]
		default:
			flags[name] = true
		}
	}
	subject := func(n int) string { // an argument that must be there
		if n >= len(args) {
			l.t.Fatalf("%q lacks an argument", line)
		}
		return args[n]
	}
	one := strings.Join(args[:min(2, len(args))], " ")
	switch {
	case args[0] == "deploy":
		l.do("deployWorkflow", nil, "source", l.good.source(), "filename", "shop.ts")
	case args[0] == "repair":
		l.do("repairWorkflow", nil, "workflow", subject(1), "source", l.good.source())
	case args[0] == "resolve":
		for flag, resolution := range map[string]string{"happened": "did_happen", "did-not-happen": "did_not_happen",
			"skip": "skip", "ask-again": "try_again"} {
			if flags[flag] == true {
				l.do("resolveMutation", nil, "mutation", subject(1), "resolution", resolution)
				return
			}
		}
		l.t.Fatalf("%q resolves nothing", line)
	case args[0] == "approve", args[0] == "reject":
		l.do(args[0]+"Mutation", nil, "mutation", subject(1))
	case args[0] == "resume":
		l.do("resumeWorkflow", nil, "workflow", subject(1))
	case args[0] == "run-now":
		l.do("runWorkflow", nil, "workflow", subject(1))
	case args[0] == "grants":
		l.do("getGrants", nil, "workflow", subject(1))
	case flags["where"] != nil:
		var done struct{ Updated int }
		filter, value, _ := strings.Cut(flags["where"].(string), "=")
		if l.do(args[0]+"Events", &done, "workflow", subject(1), filter, value); done.Updated == 0 {
			l.t.Errorf("%q changes nothing", line)
		}
	case args[0] == "cancel", args[0] == "skip", args[0] == "redrive":
		l.do(args[0]+"Event", nil, "workflow", subject(1), "topic", subject(2), "messageId", subject(3))
	case args[0] == "verify":
		var v replay.Verification
		if l.do("verifyLog", &v); !v.OK {
			l.t.Errorf("verify: %+v", v)
		}
	case args[0] == "log":
		l.do("readLog", nil, "workflow", flags["workflow"])
	case one == "mutations show":
		l.do("getMutation", nil, "mutation", subject(2))
	case one == "runs show" && flags["evidence"] == true:
		var evidence struct{ Error, Maintenance any }
		l.do("getEvidence", &evidence, "workflow", subject(2), "run", subject(3))
		if evidence.Error == nil {
			l.t.Errorf("%q shows no error: %+v", line, evidence)
		}
	case one == "runs show":
		l.do("getRun", nil, "workflow", subject(2), "run", subject(3))
	case one == "jobs show":
		l.do("getJob", nil, "workflow", subject(2), "topic", subject(3), "messageId", subject(4))
	case one == "jobs list", one == "events list", one == "mutations list":
		var page struct{ Items []json.RawMessage }
		id := map[string]string{"jobs": "listWorkflowJobs", "events": "listWorkflowEvents",
			"mutations": "listWorkflowMutations"}[args[0]]
		params := []any{}
		for name, value := range flags {
			params = append(params, name, value)
		}
		if l.do(id, &page, params...); len(page.Items) == 0 {
			l.t.Errorf("%q lists nothing", line)
		}
	default:
		l.t.Fatalf("no operation is known for %q", line)
	}
}

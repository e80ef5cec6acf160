package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/sandbox"
)

// steps say what a model does about a problem, by its code, where the engine's own hint is a command for a person.
var steps = map[string]string{
	"script.refused": "correct each problem at its line (a fix is code that can be put there), call validate until it " +
		"answers ok, then deploy again",
	"repair.spent": "stop, and tell the person what has failed and what was tried: only a person looks at it now, and " +
		"deploys or resumes it",
	"role.insufficient": "nothing was changed; tell the person which role is needed, they make a token with " +
		"`pawl tokens create NAME --role ROLE`",
	"workflow.forbidden": "nothing was changed; work on the workflow that this token is for",
	"workflow.unknown":   "call list with kind workflows to see the names there are",
	"version.moved":      "another version was deployed meanwhile: call show with kind source, and begin from that script",
	"engine.starting":    "call again in a moment",
	"mutation.state":     "call show with kind mutation to see what it is now; resolve is for indeterminate ones only",
}

// failed is the answer for an error of an operation: what happened, every problem of a script, and the next step.
func failed(called string, err error) *mcp.CallToolResult {
	var p *rpc.Problem
	switch {
	case errors.As(err, &p):
	case errors.Is(err, rpc.ErrUnreachable):
		return misused(err.Error(), "no engine answers: ask the person to start one (pawl up) in this folder, then call "+
			called+" again")
	default:
		return misused(err.Error(), "tell the person; nothing is known to be changed")
	}
	var said strings.Builder
	fmt.Fprintf(&said, "%s (%s)", explain.OneLine(p.Detail), p.Code)
	for _, found := range p.Problems {
		said.WriteString("\n" + explain.OneLine(problemText(found)))
	}
	step := steps[p.Code]
	if step == "" {
		step = p.Hint
	}
	result := misused(said.String(), step)
	result.Content = slices.Insert(result.Content, 1, mcp.Content(&mcp.TextContent{Text: outside}))
	if problem, err := json.Marshal(p); err == nil {
		result.StructuredContent = visible(problem)
	}
	return result
}

// problemText is one line for a problem of a script.
func problemText(p sandbox.Problem) string {
	line := fmt.Sprintf("line %d, column %d: %s: %s (%s)", p.Line, p.Column, p.Severity, p.Message, p.Code)
	if p.Fix != "" {
		line += "; fix: " + p.Fix
	}
	return line
}

// misused is the answer for a call that was not carried out.
func misused(what, step string) *mcp.CallToolResult {
	result := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: what}}}
	if step != "" {
		result.Content = append(result.Content, &mcp.TextContent{Text: "Next: " + step})
	}
	return result
}

package deploy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// The codes of the problems that Check finds; stable, for tools and language models.
const (
	CodeWorkflowName  = "name.workflow"
	CodeHandlerName   = "name.handler"
	CodeTopicName     = "name.topic"
	CodeDuplicate     = "name.duplicate"
	CodeSchedule      = "schedule.invalid"
	CodeTopicUnknown  = "topic.unknown"
	CodeTwoConsumers  = "topic.twoConsumers"
	CodeTopicUnused   = "topic.unused"
	CodeSubscribe     = "consumer.subscribe"
	CodePublishes     = "consumer.publishes"
	CodeMaxAttempts   = "consumer.maxAttempts"
	CodeDeadLetter    = "consumer.deadLetter"
	CodeConcurrency   = "shape.concurrency"
	CodeKey           = "concurrency.key"
	CodeHandlers      = "limit.handlers"
	CodeTopics        = "limit.topics"
	CodeEmpty         = "workflow.empty"
	CodeReserved      = "connector.reserved"
	CodeConnector     = "connector.unknown"
	CodeOperation     = "operation.unknown"
	CodeOperationKind = "operation.kind"
	CodeStringified   = "call.stringified"
	CodeResult        = "result.unknown"
	CodePhase         = "phase.forbidden"
	CodeArchived      = "workflow.archived"
	CodeHeld          = decide.CodeHolds
	CodeDrops         = "redeploy.drops"
	CodeRepair        = decide.CodeRepair
	CodeHookName      = "name.hook"
	CodeHooks         = "limit.hooks"
	CodeHook          = hook.CodeVerify
	CodeSecret        = "secret.unknown"
	CodeVars          = "vars.unknown"
	CodeSecretGrant   = "secret.notGranted"
)

// Refused reports whether any problem forbids the deploy.
func Refused(found []Problem) bool {
	return slices.ContainsFunc(found, func(p Problem) bool { return p.Severity == sandbox.SeverityError })
}

// Problem is a finding about a script.
type Problem struct {
	sandbox.Problem
	// Hint names a command that helps: in place of the Fix, or besides it. The zero value is none.
	Hint hint.Hint
}

// findings collects the problems of one check.
type findings struct {
	found []sandbox.Problem
	hints map[sandbox.Problem]hint.Hint
}

// problems are those that were found, with their hints.
func (p *findings) problems() []Problem {
	var all []Problem
	for _, found := range p.found {
		all = append(all, Problem{found, p.hints[found]})
	}
	return all
}

func (p *findings) refuse(code, fix, format string, args ...any) {
	p.add(sandbox.SeverityError, code, fix, format, args...)
}

func (p *findings) warn(code, fix, format string, args ...any) {
	p.add(sandbox.SeverityWarning, code, fix, format, args...)
}

func (p *findings) add(severity, code, fix, format string, args ...any) {
	p.found = append(p.found, sandbox.Problem{Severity: severity, Code: code, Message: fmt.Sprintf(format, args...),
		Fix: fix})
}

// at places the problem that was added last.
func (p *findings) at(place sandbox.Place) {
	last := &p.found[len(p.found)-1]
	last.Line, last.Column = place.Line, place.Column
}

// edit gives the problem that was added last the edit that mends it. The problem has no hint yet.
func (p *findings) edit(e sandbox.Edit) { p.found[len(p.found)-1].Edit = e }

// hint says what can be done about the problem that was added last. The problem has its place by then.
func (p *findings) hint(code hint.Code, values ...any) {
	if p.hints == nil {
		p.hints = map[sandbox.Problem]hint.Hint{}
	}
	p.hints[p.found[len(p.found)-1]] = hint.Of(code, values...)
}

func (p *findings) sort() {
	slices.SortStableFunc(p.found, func(a, b sandbox.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Severity, b.Severity))
	})
}

// maxListed bounds how many names a message lists.
const maxListed = 10

// list joins names for a message.
func list[S ~string](names []S) string {
	if len(names) == 0 {
		return "none"
	}
	shown := make([]string, 0, maxListed+1)
	for _, name := range names[:min(len(names), maxListed)] {
		shown = append(shown, eventlog.ClipName(name))
	}
	if more := len(names) - maxListed; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

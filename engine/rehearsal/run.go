package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/difference"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// Config is what tests run with.
type Config struct {
	// Scripts runs the script and the test file. Its owner closes it.
	Scripts sandbox.Executor
	// Connectors are those whose operations the script may call. Nothing of them is called.
	Connectors *connector.Registry
	// Policies default to schedule.Default() when zero.
	Policies schedule.Policies
	// Timeout is how long a case may take in real time; 0 means a minute.
	Timeout time.Duration
}

// Report is what the tests of a script came to.
type Report struct {
	Workflow eventlog.WorkflowName `json:"workflow"`
	Cases    []Outcome             `json:"cases"`
	Coverage Coverage              `json:"coverage"`
	// Refused are the problems for which the script would not be deployed: no case has run then.
	Refused []deploy.Problem `json:"refused,omitempty"`
}

// OK reports whether all cases have passed.
func (r *Report) OK() bool {
	for _, c := range r.Cases {
		if len(c.Problems) > 0 {
			return false
		}
	}
	return len(r.Refused) == 0
}

// Outcome is what one case came to: it has passed without a problem.
type Outcome struct {
	Name     string    `json:"name"`
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is why a case has failed.
type Problem struct {
	// Line is that of the test file, 0 for what belongs to no step.
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	// Differences are the parts in which what happened is not what was expected: before is what was expected.
	Differences []difference.Difference `json:"differences,omitempty"`
}

// Run runs all cases, each on an engine of its own, and says which lines of the script have run. Errors are none of
// the script or its tests: ctx has ended, or the machine does not let them run.
func Run(ctx context.Context, cfg Config, script sandbox.Source, suite Suite) (Report, error) {
	counting := &counter{Executor: cfg.Scripts}
	definition, _, err := cfg.Scripts.Describe(ctx, script)
	if err != nil {
		return Report{}, fmt.Errorf("read the script: %w", err)
	}
	report := Report{Workflow: eventlog.WorkflowName(definition.Name), Cases: []Outcome{}}
	var secrets []string
	for _, hook := range definition.Hooks { // their values are the engine's
		secrets = append(secrets, hook.Verify.Secret, hook.Verify.Token)
	}
	for i := range suite.Cases {
		if handler := suite.Cases[i].unknownHandler(&definition); handler != "" && !definition.Incomplete {
			report.Cases = append(report.Cases, Outcome{Name: suite.Cases[i].Name, Problems: []Problem{{Message: fmt.Sprintf(
				"state names %q, and the script has no such producer or consumer", handler)}}})
			continue
		}
		outcome, refused, err := runCase(ctx, cfg, script, &suite, &suite.Cases[i], counting, secrets)
		if err != nil {
			return report, err
		}
		if len(refused) > 0 {
			report.Refused = refused
			return report, nil
		}
		report.Cases = append(report.Cases, outcome)
	}
	report.Coverage = counting.coverage()
	return report, nil
}

// runCase runs a case to its end, or to a step that cannot be done.
func runCase(ctx context.Context, cfg Config, script sandbox.Source, suite *Suite, c *Case, scripts sandbox.Executor,
	secrets []string) (outcome Outcome, refused []deploy.Problem, err error) {
	timeout := cfg.Timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s, err := open(bounded, cfg, suite, c, scripts, secrets)
	if err != nil {
		return outcome, nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	outcome = Outcome{Name: c.Name}
	deployed, err := s.engine.Deploy(bounded, tester, engine.DeployRequest{Source: script.Code, Filename: script.Filename,
		GrantUsed: true})
	switch {
	case err != nil:
		return outcome, nil, fmt.Errorf("deploy the script: %w", err)
	case deployed.Refused:
		return outcome, deployed.Problems, nil
	}
	s.workflow, s.held = deployed.Workflow, true
	if err := s.grant(bounded, secrets); err != nil {
		outcome.Problems = append(outcome.Problems, Problem{Message: err.Error()})
		return outcome, nil, nil
	}
	run := &running{stage: s, seen: map[eventlog.EventRef]bool{}}
	for i := range c.Steps {
		problems, err := run.step(bounded, &c.Steps[i])
		if err != nil && bounded.Err() != nil {
			if ctx.Err() != nil {
				return outcome, nil, ctx.Err()
			}
			err = fmt.Errorf("the case takes longer than %s: %w", timeout, err)
		}
		outcome.Problems = append(outcome.Problems, problems...)
		if err != nil {
			outcome.Problems = append(outcome.Problems, Problem{Line: c.Steps[i].Line, Message: err.Error()})
			return outcome, nil, nil
		}
	}
	problems, err := run.end(bounded)
	if err != nil {
		problems = append(problems, Problem{Message: err.Error()})
	}
	outcome.Problems = append(outcome.Problems, problems...)
	return outcome, nil, nil
}

// grant grants the secrets of hooks, and what the case grants beside all that the script uses.
func (s *stage) grant(ctx context.Context, secrets []string) error {
	changes := map[string]*eventlog.Grant{}
	for _, name := range secrets {
		if allow := eventlog.GrantAllow; name != "" {
			changes[eventlog.SecretCapability(name)] = &allow
		}
	}
	for capability, grant := range s.c.Grants {
		changes[capability] = &grant
	}
	if len(changes) == 0 {
		return nil
	}
	return s.operate(ctx, decide.ChangeGrants{Changes: changes})
}

// unknownHandler is a handler whose state the case gives, and that the script does not have; empty for none.
func (c *Case) unknownHandler(d *sandbox.Definition) eventlog.Handler {
	for handler := range c.State {
		if !slices.ContainsFunc(d.Producers, func(p sandbox.ProducerDefinition) bool { return p.Name == string(handler) }) &&
			!slices.ContainsFunc(d.Consumers, func(c sandbox.ConsumerDefinition) bool { return c.Name == string(handler) }) {
			return handler
		}
	}
	return ""
}

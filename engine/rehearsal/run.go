package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

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

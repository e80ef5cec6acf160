package natsservice

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// Trial says how an operation may be tried.
type Trial struct {
	// Params are the parameters of the calls.
	Params json.RawMessage
	// Observe is a read of the same service whose result shows the mutation's effect, e.g. a
	// count; empty: a second effect is noticed by a different answer only.
	Observe       string
	ObserveParams json.RawMessage
}

// CheckConfig configures Check.
type CheckConfig struct {
	// Connect is as in Config. Required.
	Connect ConnectFunc
	// Prefix is as in Config.
	Prefix string
	// Name is the service. Required.
	Name string
	// Trials are by operation; an operation without one is not called.
	Trials map[string]Trial
	// Yes allows mutations to be called, which change the outside.
	Yes bool
	// Timeout bounds one call; 0 means the operation's own.
	Timeout time.Duration
}

// ErrNoService means that no service of the name answers.
var ErrNoService = errors.New("no service of that name answers")

// Check tries whether a service keeps what safe mutations rest on. It changes the outside if it may.
func Check(ctx context.Context, cfg CheckConfig) (Report, error) {
	report := Report{Connector: cfg.Name}
	registry, err := connector.NewRegistry()
	if err != nil {
		return report, err
	}
	w, err := New(Config{Connect: cfg.Connect, Registry: registry, Prefix: cfg.Prefix})
	if err != nil {
		return report, err
	}
	defer func() { _ = w.Close() }()
	if err := w.Refresh(ctx); err != nil {
		return report, err
	}
	known := false
	for _, r := range w.Refused() {
		if r.Service == cfg.Name {
			known = true
			report.add(RuleOffer, r.Endpoint, Broken, "%s", r)
		}
	}
	found, _ := registry.Connector(cfg.Name)
	s, ok := found.(*foundService)
	if !ok && !known {
		return report, fmt.Errorf("check %s: %w", cfg.Name, ErrNoService)
	}
	if !ok {
		return report, nil
	}
	for _, e := range s.endpoints {
		c := checker{report: &report, service: s, endpoint: e, cfg: cfg}
		if e.operation.Kind == connector.Mutate {
			c.mutation(ctx)
		} else {
			c.read(ctx)
		}
	}
	return report, ctx.Err()
}

// checker tries one operation.
type checker struct {
	report   *Report
	service  *foundService
	endpoint endpoint
	cfg      CheckConfig
}

func (c checker) add(rule Rule, mark Mark, format string, args ...any) {
	c.report.add(rule, c.endpoint.operation.Name, mark, format, args...)
}

func (c checker) read(ctx context.Context) {
	trial, ok := c.cfg.Trials[c.endpoint.operation.Name]
	if !ok {
		c.add(RuleDeadline, Unchecked, "not called: no parameters were given for it")
		return
	}
	c.overdue(ctx, c.call(trial.Params, ""))
}

func (c checker) mutation(ctx context.Context) {
	e := c.endpoint
	if e.operation.Timeout == 0 {
		c.add(RuleOffer, Unchecked, "it declares no %s, so one call may take %s", metaTimeout, connector.DefaultTimeout)
	}
	trial, ok := c.cfg.Trials[e.operation.Name]
	if !ok || !c.cfg.Yes {
		why := "not called, because it changes the outside: allow it with --yes"
		if !ok {
			why = "not called: no parameters were given for it"
		}
		for _, rule := range []Rule{RuleDeadline, RuleKey, RuleReconcile} {
			c.add(rule, Unchecked, "%s", why)
		}
		return
	}
	c.overdue(ctx, c.call(trial.Params, newKey()))
	applied, first := c.twice(ctx, trial)
	c.checkReconcile(ctx, trial, applied, first)
}

// overdue sends a request whose deadline has passed.
func (c checker) overdue(ctx context.Context, call connector.Call) {
	h := requestHeader(ctx, call)
	past := time.Now().Add(-time.Minute).UTC()
	h.Set(HeaderDeadline, past.Format(time.RFC3339Nano))
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	m, err := c.service.wire.request(ctx, c.endpoint.subject, h, call.Params)
	switch {
	case err != nil:
		c.add(RuleDeadline, Unchecked, "a request whose deadline had passed got no answer (%v)", err)
		return
	case unheard(m):
		c.add(RuleDeadline, Unchecked, "nothing listens on %s any more", c.endpoint.subject)
		return
	}
	switch failed := errorOf(m); {
	case failed == nil:
		c.add(RuleDeadline, Broken, "a request was carried out although its %s (%s) had passed: the caller had given "+
			"it up, and may act on that; compare the header with the clock before anything else and answer error 503",
			HeaderDeadline, past.Format(time.RFC3339))
	case failed.code != 503:
		c.add(RuleDeadline, Broken, "a request whose %s had passed was answered with error %d (%s), want 503: look at "+
			"the deadline before anything else", HeaderDeadline, failed.code, failed.text)
	default:
		c.add(RuleDeadline, Kept, "a request whose %s had passed was refused with 503", HeaderDeadline)
	}
}

// twice sends a mutation two times with one key. It returns the call and its first answer, if it
// was applied.
func (c checker) twice(ctx context.Context, trial Trial) (*connector.Call, json.RawMessage) {
	call := c.call(trial.Params, newKey())
	first := c.perform(ctx, call)
	if first.Status != connector.Applied {
		c.add(RuleKey, Unchecked, "the first call was not applied, so it could not be repeated: %v; give parameters "+
			"with which it works", first.Failure)
		return nil, nil
	}
	before, err := c.observe(ctx, trial)
	if err != nil {
		c.add(RuleKey, Unchecked, "its effect could not be observed with %s: %v", trial.Observe, err)
		return &call, first.Result
	}
	again := call
	again.StartedAt, again.Deadline = time.Now(), time.Now().Add(c.timeout())
	second := c.perform(ctx, again)
	after, err := c.observe(ctx, trial)
	switch {
	case second.Status != connector.Applied:
		c.add(RuleKey, Broken, "the same %s again was answered with %q, want the first answer again: keep it "+
			"with the key", HeaderKey, second.Failure)
	case !equalJSON(first.Result, second.Result):
		c.add(RuleKey, Broken, "the same %s again got another answer (%.200s, first %.200s): either it was carried "+
			"out twice, or the first answer is not kept with the key",
			HeaderKey, second.Result, first.Result)
	case err != nil:
		c.add(RuleKey, Unchecked, "its effect could not be observed with %s: %v", trial.Observe, err)
	case !equalJSON(before, after):
		c.add(RuleKey, Broken, "the same %s again had a second effect: %s answered %.200s before and %.200s after it",
			HeaderKey, trial.Observe, before, after)
	case trial.Observe == "":
		c.add(RuleKey, Kept, "the same %s again got the first answer; whether it had a second effect was not observed",
			HeaderKey)
	default:
		c.add(RuleKey, Kept, "the same %s again got the first answer, and %s shows no second effect", HeaderKey,
			trial.Observe)
	}
	return &call, first.Result
}

// checkReconcile asks about a call that was never made, then about one that was.
func (c checker) checkReconcile(ctx context.Context, trial Trial, applied *connector.Call, first json.RawMessage) {
	if c.endpoint.reconcile == "" {
		c.add(RuleReconcile, Unchecked, "it has no reconcile endpoint: when a call is uncertain, a person must find "+
			"out what happened")
		return
	}
	unknown := c.call(trial.Params, newKey())
	switch answer := c.ask(ctx, unknown); answer.Verdict {
	case connector.VerdictApplied:
		c.add(RuleReconcile, Broken, "it says that a call was applied that was never made: it must look for the key, "+
			"not for something similar")
	case connector.VerdictRetry:
		if answer.Failure != nil && answer.Failure.Code != CodeReconcile {
			c.add(RuleReconcile, Unchecked, "it could not be asked about a call that was never made: %v",
				answer.Failure)
			break
		}
		c.add(RuleReconcile, Kept, "asked about a call that was never made it says retry; such a call ends with a "+
			"person when the attempts are used up: write the key down as refused and answer failed to settle it")
	case connector.VerdictFailed:
		unknown.StartedAt, unknown.Deadline = time.Now(), time.Now().Add(c.timeout())
		late := c.perform(ctx, unknown)
		if late.Status == connector.Failed {
			c.add(RuleReconcile, Kept, "asked about a call that was never made it says failed, and refuses the call "+
				"when it comes after all")
			break
		}
		c.add(RuleReconcile, Broken, "it says that a call failed and does not refuse it when it comes after all (%s): "+
			"the workflow makes it again by then, so it happens twice; write the key down as refused before answering "+
			"failed, else answer retry",
			outcomeText(late))
	}
	if applied == nil {
		c.add(RuleReconcile, Unchecked, "it was not asked about a call that was applied, because none was")
		return
	}
	switch answer := c.ask(ctx, *applied); {
	case answer.Verdict == connector.VerdictFailed:
		c.add(RuleReconcile, Broken, "it says that a call failed that was applied: the workflow would make it again")
	case answer.Verdict == connector.VerdictRetry:
		c.add(RuleReconcile, Broken, "it does not say that a call was applied that was: %v",
			cmp.Or(answer.Failure, &eventlog.Failure{Code: CodeReconcile, Message: "retry"}))
	case !equalJSON(answer.Result, first):
		c.add(RuleReconcile, Broken, "it says that the call was applied, with the result %.200s; the call itself "+
			"answered %.200s", answer.Result, first)
	default:
		c.add(RuleReconcile, Kept, "asked about a call that was applied it says so, with the call's own result")
	}
}

func (c checker) timeout() time.Duration {
	return cmp.Or(c.cfg.Timeout, c.endpoint.operation.Timeout, connector.DefaultTimeout)
}

func (c checker) call(params json.RawMessage, key string) connector.Call {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	now := time.Now()
	return connector.Call{
		Workflow: "connectors-check", Run: "check", Connector: c.service.name, Operation: c.endpoint.operation.Name,
		Params: params, Key: key, StartedAt: now, Deadline: now.Add(c.timeout()),
	}
}

func (c checker) perform(ctx context.Context, call connector.Call) connector.Outcome {
	// Ended by its cancellation at the deadline: no call waits for a late reply here.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(time.Until(call.Deadline), cancel)
	defer timer.Stop()
	return c.service.Perform(ctx, call)
}

func (c checker) ask(ctx context.Context, call connector.Call) connector.Reconciliation {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	return c.service.Reconcile(ctx, call)
}

// observe reads what shows the effect; nil without a read for it.
func (c checker) observe(ctx context.Context, trial Trial) (json.RawMessage, error) {
	if trial.Observe == "" {
		return nil, nil
	}
	call := c.call(trial.ObserveParams, "")
	call.Operation = trial.Observe
	if e, ok := c.service.endpoint(trial.Observe); !ok || e.operation.Kind == connector.Mutate {
		return nil, fmt.Errorf("%s has no read operation %s", c.service.name, trial.Observe)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	return c.service.Read(ctx, call)
}

// newKey makes an idempotency key that no call has used.
func newKey() string { return "check-" + rand.Text() }

func equalJSON(a, b json.RawMessage) bool {
	x, errX := jsonschema.UnmarshalJSON(bytes.NewReader(a)) // which keeps all digits of a number
	y, errY := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if errX != nil || errY != nil {
		return bytes.Equal(a, b)
	}
	return reflect.DeepEqual(x, y)
}

func outcomeText(out connector.Outcome) string {
	if out.Status == connector.Applied {
		return fmt.Sprintf("applied, %.200s", out.Result)
	}
	return fmt.Sprintf("uncertain, %v", out.Failure)
}

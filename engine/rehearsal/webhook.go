package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
)

// testSecret is the value of each secret in a test. As text, hex and base64 it is what every scheme takes.
const testSecret = "7061776c207465737420736563726574"

// The codes of refusals that package hook does not know; they are those of an engine.
const (
	codeHookUnready = "hook.unready"
	codeTooLarge    = "body.tooLarge"
	codeMethod      = "method.notAllowed"
)

// hook sends a request to a hook, signed as its sender would sign it. The request has the effect that it has in an
// engine.
func (r *running) hook(ctx context.Context, step *Step) error {
	state, _ := r.engine.State(r.workflow)
	h, ok := state.Definition().Hook(step.Hook)
	if !ok {
		return fmt.Errorf("the script has no hook %q", step.Hook)
	}
	taken, code, err := r.take(ctx, &h, step.Request, state.Grants)
	switch {
	case err != nil && code == "":
		return err
	case code != "" && step.Refused == code:
		return nil
	case code != "" && step.Refused != "":
		return fmt.Errorf("the hook refuses the request with %s and not with %s: %w", code, step.Refused, err)
	case code != "":
		return fmt.Errorf("the hook refuses the request with %s: %w", code, err)
	case step.Refused != "":
		return fmt.Errorf("the hook was to refuse the request with %s, and takes it", step.Refused)
	case taken.IsChallenge && step.Answers == "":
		return fmt.Errorf("the hook answers the request with %q, as a challenge, and makes no event of it; answers: %q "+
			"expects that", taken.Challenge, taken.Challenge)
	case step.Answers != taken.Challenge:
		return fmt.Errorf("the hook was to answer %q, as to a challenge, and answers %q", step.Answers, taken.Challenge)
	}
	return nil
}

// take has the hook take the request, and pushes its event. The code is that with which it is refused.
func (r *running) take(ctx context.Context, h *eventlog.Hook, w Webhook, grants map[string]eventlog.Grant) (
	taken hook.Taken, code string, err error) {
	request := w.request(r.workflow, h)
	if !hook.Allowed(request.Method) {
		return taken, codeMethod, fmt.Errorf("a hook takes no %s", eventlog.ClipName(request.Method))
	}
	if len(request.Body) > hook.MaxBody {
		return taken, codeTooLarge, fmt.Errorf("the body has %d bytes; it may have %d", len(request.Body), hook.MaxBody)
	}
	if h.Verify.Scheme != hook.SchemeNone && !capability.SecretGranted(grants, h.Verify.Secret) {
		return taken, codeHookUnready, fmt.Errorf("the workflow is not granted the secret %s", h.Verify.Secret)
	}
	now := r.clock.Now()
	if !w.Unsigned {
		if err := hook.Sign(h.Verify, testSecret, request, now); err != nil {
			return taken, "", err
		}
	}
	taken, err = hook.Take(h, []string{testSecret}, request, now, nil)
	var unverified *hook.Unverified
	var unreadable *hook.Unreadable
	switch {
	case errors.As(err, &unverified):
		return taken, unverified.Code, err
	case errors.As(err, &unreadable):
		return taken, unreadable.Code, err
	case err != nil || taken.IsChallenge:
		return taken, "", err
	}
	if err := r.hold(ctx); err != nil {
		return taken, "", err
	}
	actor := eventlog.Actor{Kind: "hook", Name: string(h.Name), Verified: h.Verify.Scheme != hook.SchemeNone}
	_, err = r.engine.Push(ctx, actor, r.workflow, h.Topic, []decide.PushItem{{MessageID: taken.Event.MessageID,
		Title: taken.Event.Title, Payload: taken.Event.Payload}})
	if errors.Is(err, eventlog.ErrTooLarge) {
		return taken, codeTooLarge, err
	}
	return taken, "", err
}

// request is what the sender sends.
func (w *Webhook) request(workflow eventlog.WorkflowName, h *eventlog.Hook) *hook.Request {
	method := w.Method
	if method == "" {
		method = http.MethodPost
	}
	query := url.Values{}
	for name, value := range w.Query {
		query.Set(name, value)
	}
	r := &hook.Request{Method: method, URL: fmt.Sprintf("http://localhost/hooks/%s/%s", workflow, h.Name),
		RawQuery: query.Encode(), Header: http.Header{}, Body: []byte(w.Body)}
	if r.RawQuery != "" {
		r.URL += "?" + r.RawQuery
	}
	if w.ContentType != "" {
		r.Header.Set("Content-Type", w.ContentType)
	}
	for name, value := range w.Headers {
		r.Header.Set(name, value)
	}
	return r
}

package hooks

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"

	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
)

// View is a hook as operators see it.
type View struct {
	Workflow eventlog.WorkflowName `json:"workflow"`
	Name     eventlog.HookName     `json:"name"`
	URL      string                `json:"url" jsonschema:"where the sender posts to"`
	Topic    eventlog.Topic        `json:"topic"`
	Verify   string                `json:"verify" jsonschema:"the scheme: that of a known sender, hmac, token or none"`
	Secret   string                `json:"secret,omitempty" jsonschema:"the name of the secret that verifies"`
	State    Readiness             `json:"state"`
	ID       string                `json:"id" jsonschema:"the template of its events' messageId"`
	Title    string                `json:"title" jsonschema:"the template of their title"`
}

// Views are the hooks of a workflow, at the base address; none for an archived workflow, which takes no request.
func (rc *Receiver) Views(s *projections.State, base string) []View {
	var views []View
	if s.Archived {
		return nil
	}
	for _, h := range s.Definition().Hooks {
		ready, _ := rc.readiness(s, &h)
		views = append(views, View{Workflow: s.Name, Name: h.Name, URL: rc.url(base, s.Name, h.Name), Topic: h.Topic,
			Verify: h.Verify.Scheme, Secret: h.Verify.Secret, State: ready, ID: h.ID, Title: h.Title})
	}
	return views
}

// Refusing are the hooks of a workflow that refuse every request; none for an archived workflow.
func (rc *Receiver) Refusing(s *projections.State) []explain.RefusingHook {
	var refusing []explain.RefusingHook
	if s.Archived {
		return nil
	}
	for _, h := range s.Definition().Hooks {
		of := explain.RefusingHook{Name: h.Name}
		switch ready, _ := rc.readiness(s, &h); ready {
		case Ready:
			continue
		case SecretUnknown:
			of.Because = "its secret " + h.Verify.Secret + " is not configured"
			of.Remedy = "write it under secrets in the configuration and start the engine again"
		case SecretUnusable:
			of.Because = "no value of its secret " + h.Verify.Secret + " is written as its scheme " + h.Verify.Scheme + " wants"
			of.Remedy = "correct it in the configuration and start the engine again"
		case SecretNotGranted:
			of.Because = "the workflow is not granted its secret " + h.Verify.Secret
			of.Grant = "pawl grants " + string(s.Name) + " " + eventlog.SecretCapability(h.Verify.Secret) + "=allow"
		}
		refusing = append(refusing, of)
	}
	return refusing
}

func (rc *Receiver) url(base string, w eventlog.WorkflowName, h eventlog.HookName) string {
	if rc.PublicURL != "" {
		base = rc.PublicURL
	}
	return strings.TrimSuffix(base, "/") + Address(w, h)
}

// SampleRequest asks for a request as the sender of a hook would make it.
type SampleRequest struct {
	Workflow eventlog.WorkflowName
	Hook     eventlog.HookName
	// Base is the engine's own address.
	Base string
	// Body is invented where it is nil, ContentType where it is empty.
	Body        []byte
	ContentType string
	// Send handles the sample as if it had come from outside.
	Send bool
}

// Sample is a signed request, and what became of it if it was sent.
type Sample struct {
	URL  string `json:"url"`
	Curl string `json:"curl" jsonschema:"a command that sends it; it takes a token from the environment variable"`
	// Variable is empty for a command that needs none.
	Variable string `json:"variable,omitempty" jsonschema:"the environment variable that the command takes the token from, named as the secret"`
	// Sent is nil for a sample that was only made.
	Sent *Sent `json:"sent"`
}

// Sent is the answer to a sample.
type Sent struct {
	Status    int                 `json:"status"`
	Body      string              `json:"body"`
	Topic     eventlog.Topic      `json:"topic"`
	MessageID *eventlog.MessageID `json:"messageId" jsonschema:"of the event that was recorded; null for none"`
}

// Sample makes a request for a hook, and sends it if asked to. Errors are *rpc.Problem.
func (rc *Receiver) Sample(ctx context.Context, q SampleRequest) (Sample, error) {
	h, s, err := rc.find(q.Workflow, q.Hook)
	if err != nil {
		return Sample{}, err
	}
	ready, values := rc.readiness(&s, &h)
	switch ready {
	case SecretUnknown:
		return Sample{}, rpc.Problemf(http.StatusConflict, codeUnready, "hook %s verifies with the secret %s, which is not "+
			"configured", h.Name, h.Verify.Secret).WithHint("add it under secrets: in pawl.yaml and start the engine again")
	case SecretNotGranted:
		return Sample{}, rpc.Problemf(http.StatusConflict, codeUnready, "hook %s verifies with the secret %s, which "+
			"workflow %s is not granted", h.Name, h.Verify.Secret, q.Workflow).
			WithHint("grant it: pawl grants " + string(q.Workflow) + " " + eventlog.SecretCapability(h.Verify.Secret) + "=allow")
	case SecretUnusable:
		return Sample{}, rpc.Problemf(http.StatusConflict, codeUnready, "hook %s verifies with the secret %s, whose value "+
			"is not written as scheme %s wants", h.Name, h.Verify.Secret, h.Verify.Scheme).
			WithHint("correct the value of the secret and start the engine again")
	case Ready:
	}
	value := ""
	if len(values) > 0 {
		value = values[0]
	}
	at := rc.url(q.Base, q.Workflow, q.Hook)
	r, err := hook.Sample(&h, at, q.Body, q.ContentType, strings.ToLower(rand.Text()[:8]))
	if err != nil {
		return Sample{}, err
	}
	unsigned := func(err error) error {
		return rpc.Problemf(http.StatusConflict, codeUnready, "%v", err).
			WithHint("correct the value of the secret and start the engine again")
	}
	if err := hook.Sign(h.Verify, value, r, rc.Now()); err != nil {
		return Sample{}, unsigned(err)
	}
	sample := Sample{URL: at}
	if h.Verify.Scheme == hook.SchemeToken { // a command is easily passed on, so it does not hold the token
		plain, err := hook.Sample(&h, at, q.Body, q.ContentType, "token")
		if err != nil {
			return Sample{}, err
		}
		stands := rand.Text()
		if err := hook.Sign(h.Verify, stands, plain, rc.Now()); err != nil {
			return Sample{}, unsigned(err)
		}
		sample.Curl, sample.Variable = plain.CurlOf(stands, h.Verify.Secret), h.Verify.Secret
	} else {
		sample.Curl = r.Curl()
	}
	if !q.Send {
		return sample, nil
	}
	a, err := rc.accept(ctx, q.Workflow, q.Hook, r, func() {})
	var p *rpc.Problem
	switch {
	case errors.As(err, &p):
		sample.Sent = &Sent{Status: p.Status, Body: string(p.Document()), Topic: h.Topic}
		return sample, nil
	case err != nil:
		return Sample{}, err
	}
	sample.Sent = &Sent{Status: a.status, Body: string(a.body), Topic: h.Topic}
	if a.event != "" {
		sample.Sent.MessageID = &a.event
	}
	return sample, nil
}

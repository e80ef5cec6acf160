package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/hook"
	"github.com/pawl-run/pawl/engine/secret"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/ops/trace"
	"github.com/pawl-run/pawl/projections"
)

// Engine is what a hook needs of an engine.
type Engine interface {
	State(eventlog.WorkflowName) (projections.State, bool)
	Push(context.Context, eventlog.Actor, eventlog.WorkflowName, eventlog.Topic,
		[]decide.PushItem) ([]decide.PushResult, error)
}

const (
	// bodyTimeout is how long a sender may take for a body.
	bodyTimeout = 15 * time.Second
	// firstRoom is the memory in bytes that a body has at first. Whenever it is full, it is doubled: a sender uses
	// memory for the bytes that it has sent, not for those that it has announced.
	firstRoom = 16 << 10
)

// Config of a Receiver; all of it is required but PublicURL.
type Config struct {
	Engine  Engine
	Secrets secret.Set
	// Now is the engine's clock, which judges the times of requests.
	Now func() time.Time
	// PublicURL is the address under which senders reach this engine; empty where that is the Host of their requests.
	PublicURL string
	// Timeout bounds the recording of one event.
	Timeout time.Duration
	// Started waits for an engine that still reads its log.
	Started func(context.Context) error
	// Problem renders an error and logs what a person must look into.
	Problem func(error) *rpc.Problem
	// Refuse answers with a problem, and reads what the sender still sends.
	Refuse func(http.ResponseWriter, *http.Request, *rpc.Problem)
	// Answered counts an answer, Refused a refusal by its code, and Recorded an event that is new.
	Answered func(status int)
	Refused  func(code string)
	Recorded func()
	Logger   *slog.Logger
}

// Receiver answers at the addresses of all hooks.
type Receiver struct {
	Config
	bodies      *auth.Quota
	bodyTimeout time.Duration // the constant, except in tests
	mu          sync.Mutex
	// warned is when the operator was last warned that a hook cannot verify, by its address.
	warned map[string]time.Time
}

// The room for bodies that are not verified yet, in KiB: of all senders, and of those at one address.
const maxBodies, maxBodiesEach = 64 << 10, 32 << 10

// New makes a Receiver.
func New(c Config) *Receiver {
	return &Receiver{Config: c, warned: map[string]time.Time{}, bodyTimeout: bodyTimeout,
		bodies: auth.NewQuota("KiB of bodies of hooks", codeBusy, maxBodies, maxBodiesEach)}
}

// The codes of refusals that are not those of package hook.
const (
	CodeUnknown = "hook.unknown"
	// codeUnready: the hook cannot verify anything now. Its operator can change that, and the sender tries again.
	codeUnready    = "hook.unready"
	codeTooLarge   = "body.tooLarge"
	codeSlow       = "body.slow"
	codeUnreadable = "body.unreadable"
	codeBusy       = "hook.busy"
)

// Refusals are the codes with which a sender's request is refused; those of storage and of the workflow may come too.
func Refusals() []string {
	return []string{CodeUnknown, codeUnready, codeTooLarge, codeSlow, codeUnreadable, codeBusy, hook.CodeUnsigned,
		hook.CodeSignature, hook.CodeToken, hook.CodeTimestamp, hook.CodeID, hook.CodeChallenge, hook.CodeJSON, hook.CodeForm,
		hook.CodeQuery, hook.CodeContentType}
}

// Path is the prefix of the paths of hooks; Address is the path of one hook.
const Path = "/hooks/"

// Address is the path for requests to the hook.
func Address(w eventlog.WorkflowName, h eventlog.HookName) string {
	return Path + string(w) + "/" + string(h)
}

// answer is the answer to a verified request.
type answer struct {
	status int
	media  string
	body   []byte
	// event is the id of the recorded event; empty for a challenge.
	event eventlog.MessageID
}

// find is the hook at an address.
func (rc *Receiver) find(w eventlog.WorkflowName, name eventlog.HookName) (eventlog.Hook, projections.State, error) {
	s, ok := rc.Engine.State(w)
	if ok && w != eventlog.Installation {
		if h, ok := s.Definition().Hook(name); ok {
			return h, s, nil
		}
	}
	return eventlog.Hook{}, s, rpc.Problemf(http.StatusNotFound, CodeUnknown, "there is no hook at %s",
		eventlog.ClipName(Address(w, name))).WithHint("pawl hooks list shows the hooks that there are")
}

// Readiness says whether a hook can verify requests, and if not, why.
type Readiness string

// The values of Readiness.
const (
	Ready            Readiness = "ready"
	SecretUnknown    Readiness = "secretUnknown"    // no secret of the name is configured
	SecretNotGranted Readiness = "secretNotGranted" // the workflow may not use it
	SecretUnusable   Readiness = "secretUnusable"   // no value of it is written as the scheme wants
)

// readiness says whether the hook can verify requests, and returns the values of the secret that verifies them.
func (rc *Receiver) readiness(s *projections.State, h *eventlog.Hook) (Readiness, []string) {
	if h.Verify.Scheme == hook.SchemeNone {
		return Ready, nil
	}
	known, ok := rc.Secrets.Lookup(h.Verify.Secret)
	switch {
	case !ok:
		return SecretUnknown, nil
	case !capability.SecretGranted(s.Grants, h.Verify.Secret):
		return SecretNotGranted, nil
	case !slices.ContainsFunc(known.Values(), func(value string) bool { return hook.Usable(h.Verify, value) }):
		return SecretUnusable, nil
	}
	return Ready, known.Values()
}

// accept verifies a request and records its event. It calls verified for a request that was made with the secret.
// Errors are *rpc.Problem.
func (rc *Receiver) accept(ctx context.Context, w eventlog.WorkflowName, name eventlog.HookName, r *hook.Request,
	verified func()) (answer, error) {
	h, s, err := rc.find(w, name)
	if err != nil {
		return answer{}, err
	}
	ready, values := rc.readiness(&s, &h)
	if ready != Ready {
		rc.warn(w, &h, ready)
		return answer{}, rpc.Problemf(http.StatusServiceUnavailable, codeUnready,
			"this hook cannot verify requests now; nothing was stored").
			WithHint("send it again later; its operator finds the reason with pawl hooks list")
	}
	taken, err := hook.Take(&h, values, r, rc.Now(), verified)
	if err != nil {
		return answer{}, refusal(err)
	}
	if taken.IsChallenge {
		a := answer{status: http.StatusOK, media: "text/plain; charset=utf-8", body: []byte(taken.Challenge)}
		if h.Respond != nil && h.Respond.Status != 0 {
			a.status = h.Respond.Status
		}
		return a, nil
	}
	return rc.record(ctx, w, &h, taken.Event)
}

// record answers once the event is durable.
func (rc *Receiver) record(ctx context.Context, w eventlog.WorkflowName, h *eventlog.Hook,
	event hook.Event) (answer, error) {
	actor := eventlog.Actor{Kind: "hook", Name: string(h.Name), Verified: h.Verify.Scheme != hook.SchemeNone}
	results, err := rc.Engine.Push(ctx, actor, w, h.Topic,
		[]decide.PushItem{{MessageID: event.MessageID, Title: event.Title, Payload: event.Payload,
			Traceparent: trace.Sender(ctx)}})
	switch {
	case errors.Is(err, eventlog.ErrTooLarge):
		return answer{}, tooLarge()
	case err != nil:
		return answer{}, err
	case len(results) != 1:
		return answer{}, fmt.Errorf("record a request of hook %s: %d answers came back for one event", h.Name, len(results))
	}
	a := answer{status: http.StatusAccepted, media: "application/json", event: event.MessageID}
	if results[0].Result == decide.PushCreated {
		rc.Recorded()
	} else {
		a.status = http.StatusOK
	}
	if a.body, err = json.Marshal(results[0]); err != nil {
		return answer{}, fmt.Errorf("answer a request of hook %s: %w", h.Name, err)
	}
	if own := h.Respond; own != nil {
		if own.Status != 0 {
			a.status = own.Status
		}
		if own.Media != "" {
			a.media, a.body = own.Media, []byte(own.Body)
		}
	}
	if a.status == http.StatusNoContent || a.status == http.StatusResetContent {
		a.media, a.body = "", nil
	}
	return a, nil
}

// refusal is the problem for a refusal of package hook.
func refusal(err error) error {
	var unverified *hook.Unverified
	var unreadable *hook.Unreadable
	switch {
	case errors.As(err, &unverified):
		return rpc.Problemf(http.StatusUnauthorized, unverified.Code, "%s; nothing was stored", unverified.Message).
			WithHint(unverified.Hint)
	case errors.As(err, &unreadable):
		return rpc.Problemf(http.StatusBadRequest, unreadable.Code, "%s; nothing was stored", unreadable.Message).
			WithHint(unreadable.Hint)
	}
	return err
}

func tooLarge() *rpc.Problem {
	return rpc.Problemf(http.StatusRequestEntityTooLarge, codeTooLarge,
		"the body of a hook's request may have at most %d bytes; nothing was stored", hook.MaxBody).
		WithHint("send less, for example the address of the rest")
}

// warnAgain is the least time between two warnings about one hook that is not ready.
const warnAgain = time.Minute

// warn tells the operator why a hook refuses all requests. The sender does not learn it.
func (rc *Receiver) warn(w eventlog.WorkflowName, h *eventlog.Hook, why Readiness) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	at, now := Address(w, h.Name), time.Now()
	if now.Sub(rc.warned[at]) < warnAgain {
		return
	}
	rc.warned[at] = now
	log := rc.Logger.With("workflow", w, "hook", h.Name, "secret", h.Verify.Secret)
	switch why {
	case SecretUnknown:
		log.Warn("requests of a hook are refused: its secret is not configured")
	case SecretUnusable:
		log.Warn("requests of a hook are refused: the value of its secret is not written as its scheme wants",
			"scheme", h.Verify.Scheme)
	case SecretNotGranted:
		log.Warn("requests of a hook are refused: the workflow is not granted its secret",
			"grant", fmt.Sprintf("pawl grants %s %s=allow", w, eventlog.SecretCapability(h.Verify.Secret)))
	case Ready:
	}
}

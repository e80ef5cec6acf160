package ops

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/console"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// openConsole makes the web page over this backend.
func (b *backend) openConsole() *console.Console {
	return console.New(console.Config{
		Operations: Table(), Guard: b.guard, Links: b.links, Log: b.cfg.Log, Now: b.cfg.Now, Followers: b.followers,
		Revocations: &b.revocations, KeepAlive: b.cfg.KeepAlive, Life: b.life, Logger: b.cfg.Logger,
		Version: b.cfg.Version, Generation: b.log.Generation,
		Call: func(ctx context.Context, c *rpc.Caller, id string, request []byte) ([]byte, *rpc.Problem) {
			o, ok := Lookup(id)
			if !ok {
				panic("the console asks for " + id)
			}
			_, body, p := b.dispatch(ctx, &o, &Call{Caller: *c, backend: b, leave: b.life}, request)
			return body, p
		},
		OpenLogin: b.openLogin, Await: b.await, Recording: b.recording,
	})
}

// recording notes the positions that are recorded under the context. An engine that is alone notes none, since every
// request reaches the same engine.
func (b *backend) recording(ctx context.Context) (context.Context, func() string) {
	if _, shares := b.cfg.Engine.Behind(); !shares {
		return ctx, func() string { return "" }
	}
	ctx, recorded := engine.WithRecorded(ctx)
	return ctx, func() string { return positionsOf(recorded) }
}

// openLogin records a login for the caller, whose token must still be valid.
func (b *backend) openLogin(ctx context.Context, c *rpc.Caller) (string, time.Duration, *rpc.Problem) {
	if !b.guard.Open(c) {
		return "", 0, rpc.Problemf(http.StatusForbidden, "token.revoked", "the token of this link was revoked").
			WithHint("make a new link with another one: pawl open")
	}
	secret, hash := auth.NewSecret()
	cmd := decide.OpenLogin{ID: auth.NewLoginID(), Hash: hash, User: c.Actor, Role: eventlog.TokenRole(c.Role),
		Workflow: c.Workflow}
	if c.TokenHash != "" {
		cmd.Token = eventlog.TokenName(c.Actor.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	if err := b.cfg.Engine.OpenLogin(ctx, c.Actor, cmd); err != nil {
		return "", 0, b.fault("openLogin", err)
	}
	return secret, decide.LoginLife, nil
}

type (
	createLoginRequest struct {
		Role eventlog.TokenRole `json:"role,omitempty" jsonschema:"what the browser may do, at most what its maker may; the maker's own role when left out"`
	}
	createLoginAnswer struct {
		URL       string             `json:"url" jsonschema:"what a browser opens, once; it is shown this once"`
		ExpiresAt eventlog.Instant   `json:"expiresAt" jsonschema:"until when, by the machine's clock"`
		Role      eventlog.TokenRole `json:"role"`
	}
	closeLoginRequest struct {
		Login eventlog.LoginID `json:"login" in:"path" jsonschema:"the login's id"`
	}
	closedLogin struct {
		ID eventlog.LoginID `json:"id"`
	}
	loginView struct {
		ID        eventlog.LoginID       `json:"id"`
		User      eventlog.Actor         `json:"user" jsonschema:"the name under which the browser acts"`
		Role      eventlog.TokenRole     `json:"role"`
		Workflow  *eventlog.WorkflowName `json:"workflow" jsonschema:"the only workflow that the login is for, null when it is for all"`
		Token     *eventlog.TokenName    `json:"token" jsonschema:"the named token with which it was made, null for the engine's own one"`
		OpenedAt  eventlog.Instant       `json:"openedAt"`
		ExpiresAt eventlog.Instant       `json:"expiresAt"`
		Current   bool                   `json:"current" jsonschema:"whether it is that of the browser that asks"`
	}
)

var loginTable = []Operation{
	define(operation("createLogin", "POST /v1/logins", rpc.Viewer,
		"Make a link with which a browser opens the console, once, within a minute").narrowing().private(),
		func(ctx context.Context, c *Call, r *createLoginRequest) (createLoginAnswer, error) {
			return c.backend.createLogin(ctx, c.Caller, r.Role)
		}),
	define(operation("listLogins", "GET /v1/logins", rpc.Viewer,
		"List the browsers that are logged in: all for an admin, else those of the same token or name").narrowing(),
		listLogins),
	define(operation("closeLogin", "DELETE /v1/logins/{login}", rpc.Viewer,
		"End a login that listLogins shows: from then on its browser is refused").narrowing(), closeLogin),
}

func (b *backend) createLogin(ctx context.Context, as rpc.Caller, role eventlog.TokenRole) (createLoginAnswer, error) {
	if role != "" {
		if role == eventlog.RoleIngest || !as.Role.Covers(rpc.Role(role)) {
			return createLoginAnswer{}, rpc.Problemf(http.StatusForbidden, "role.insufficient",
				"a browser cannot have the role %q from a caller with the role %s", eventlog.ClipName(string(role)), as.Role).
				WithHint("ask for viewer, operator or admin, at most your own role")
		}
		as.Role = rpc.Role(role)
	}
	base := b.cfg.PublicURL
	if base == "" {
		base = b.address()
	}
	code, until, err := b.links.Make(ctx, as, time.Now())
	if err != nil {
		return createLoginAnswer{}, err
	}
	return createLoginAnswer{URL: base + console.LoginPath + "#" + code, ExpiresAt: eventlog.At(until),
		Role: eventlog.TokenRole(as.Role)}, nil
}

// logins are the logins that the caller may see and end, the oldest first.
func (b *backend) logins(c *rpc.Caller) ([]projections.Login, error) {
	all, err := b.cfg.Engine.Logins()
	return slices.DeleteFunc(all, func(l projections.Login) bool { return !auth.MayEnd(c, l) }), err
}

func listLogins(_ context.Context, c *Call, _ *noRequest) (readmodel.Page[loginView], error) {
	page := readmodel.Page[loginView]{Items: []loginView{}}
	logins, err := c.backend.logins(&c.Caller)
	for _, l := range logins {
		view := loginView{ID: l.ID, User: l.User, Role: l.Role, Workflow: ofWorkflow(l.Workflow), OpenedAt: l.OpenedAt,
			ExpiresAt: l.ExpiresAt, Current: l.ID == c.Login}
		if l.Token != "" {
			view.Token = &l.Token
		}
		page.Items = append(page.Items, view)
	}
	return page, err
}

// closeLogin gives the same answer for a login that the caller may not see and for a login that does not exist.
func closeLogin(ctx context.Context, c *Call, r *closeLoginRequest) (closedLogin, error) {
	logins, err := c.backend.logins(&c.Caller)
	if err != nil {
		return closedLogin{}, err
	}
	if !slices.ContainsFunc(logins, func(l projections.Login) bool { return l.ID == r.Login }) {
		return closedLogin{}, rpc.Problemf(http.StatusNotFound, "login.unknown", "no login %q of yours is open",
			eventlog.ClipName(string(r.Login))).WithHint("pawl logins lists those that you can end")
	}
	if err := c.backend.cfg.Engine.CloseLogin(ctx, c.Actor, r.Login); err != nil {
		return closedLogin{}, err
	}
	c.backend.revocations.Notify()
	return closedLogin{r.Login}, nil
}

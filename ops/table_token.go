package ops

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/auth"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/projections/readmodel"
)

type (
	createTokenRequest struct {
		Name     eventlog.TokenName    `json:"name" jsonschema:"the name of its user, which the transitions carry"`
		Role     eventlog.TokenRole    `json:"role" jsonschema:"viewer reads; ingest pushes events and does nothing else; operator does both and deploys; admin also gives grants and tokens"`
		Workflow eventlog.WorkflowName `json:"workflow,omitempty" jsonschema:"the only workflow that the token is for, which need not exist yet; all when left out"`
	}
	createTokenAnswer struct {
		Name     eventlog.TokenName     `json:"name"`
		Role     eventlog.TokenRole     `json:"role"`
		Workflow *eventlog.WorkflowName `json:"workflow"`
		Token    string                 `json:"token" jsonschema:"the token, which is shown this once"`
	}
	revokeTokenRequest struct {
		Name eventlog.TokenName `json:"name" in:"path" jsonschema:"the token's name"`
	}
	revokedToken struct {
		Name eventlog.TokenName `json:"name"`
	}
	tokenView struct {
		Name      eventlog.TokenName     `json:"name"`
		Role      eventlog.TokenRole     `json:"role"`
		Workflow  *eventlog.WorkflowName `json:"workflow" jsonschema:"the only workflow that the token is for, null when it is for all"`
		CreatedAt eventlog.Instant       `json:"createdAt"`
		CreatedBy eventlog.Actor         `json:"createdBy"`
		Last4     string                 `json:"last4" jsonschema:"the token's last characters"`
	}
	callerView struct {
		Name     string                 `json:"name" jsonschema:"the name that the transitions carry: the token's, else the one that is claimed"`
		Role     eventlog.TokenRole     `json:"role"`
		Workflow *eventlog.WorkflowName `json:"workflow" jsonschema:"the only workflow that the caller may see and act on, null when it is all"`
	}
)

var tokenTable = []Operation{
	define(operation("getCaller", "GET /v1/caller", rpc.Viewer,
		"Say who the caller is, and which role its token has").narrowing(), getCaller),
	define(operation("createToken", "POST /v1/tokens", rpc.Admin,
		"Make a named token: its caller has the role, and the log names it in all that it does").
		answering(http.StatusCreated).private(), createToken),
	define(operation("listTokens", "GET /v1/tokens", rpc.Admin, "List the named tokens in use"), listTokens),
	define(operation("revokeToken", "DELETE /v1/tokens/{name}", rpc.Admin,
		"Revoke a named token: from then on it is refused"), revokeToken),
}

func getCaller(_ context.Context, c *Call, _ *noRequest) (callerView, error) {
	view := callerView{Name: c.Actor.Name, Role: eventlog.TokenRole(c.Role)}
	if c.Workflow != "" {
		view.Workflow = &c.Workflow
	}
	return view, nil
}

func createToken(ctx context.Context, c *Call, r *createTokenRequest) (createTokenAnswer, error) {
	token := auth.NewToken()
	cmd := decide.CreateToken{Name: r.Name, Role: r.Role, Workflow: r.Workflow, Hash: engine.TokenHash(token),
		Last4: token[len(token)-4:]}
	if err := c.backend.cfg.Engine.CreateToken(ctx, c.Actor, cmd); err != nil {
		return createTokenAnswer{}, err
	}
	return createTokenAnswer{Name: r.Name, Role: r.Role, Workflow: ofWorkflow(r.Workflow), Token: token}, nil
}

func listTokens(_ context.Context, c *Call, _ *noRequest) (readmodel.Page[tokenView], error) {
	page := readmodel.Page[tokenView]{Items: []tokenView{}}
	tokens, err := c.backend.cfg.Engine.Tokens()
	if err != nil {
		return page, err
	}
	for _, t := range tokens {
		page.Items = append(page.Items, viewToken(t))
	}
	slices.SortFunc(page.Items, func(a, b tokenView) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
	return page, nil
}

func revokeToken(ctx context.Context, c *Call, r *revokeTokenRequest) (revokedToken, error) {
	if err := c.backend.cfg.Engine.RevokeToken(ctx, c.Actor, r.Name); err != nil {
		return revokedToken{}, err
	}
	c.backend.revocations.Notify()
	return revokedToken{r.Name}, nil
}

func viewToken(t projections.Token) tokenView {
	return tokenView{Name: t.Name, Role: t.Role, Workflow: ofWorkflow(t.Workflow), CreatedAt: t.CreatedAt,
		CreatedBy: t.CreatedBy, Last4: t.Last4}
}

// ofWorkflow is null in JSON for all workflows.
func ofWorkflow(w eventlog.WorkflowName) *eventlog.WorkflowName {
	if w == "" {
		return nil
	}
	return &w
}

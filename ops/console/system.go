package console

import (
	"encoding/json"
	"net/http"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
	"github.com/pawl-run/pawl/sandbox/worker"
)

type (
	systemView struct {
		Diagnostics   *diagnostics
		Connectors    []connectorView
		Refused       []refusedService
		Workers       *worker.Report
		Hooks         []hookView
		Subscriptions []subscriptionView
		Tokens        []tokenView
		MayTokens     bool
		Logins        []loginView
		Clock         struct {
			Now    eventlog.Instant `json:"now"`
			Manual bool             `json:"manual"`
		}
		// Made is a token that was made with the form just now; it is shown only this once.
		Made string
	}
	diagnostics struct {
		Log struct {
			OK, Checked bool
			Problems    []string
		} `json:"log"`
		Stopped []struct {
			Workflow eventlog.WorkflowName
			Reason   string
		} `json:"stopped"`
		Unread []struct {
			Workflow eventlog.WorkflowName
			Topic    eventlog.Topic
			Events   int
		} `json:"unread"`
		Contradictions []struct {
			Workflow eventlog.WorkflowName
			Message  string
		} `json:"contradictions"`
	}
	connectorView struct {
		Name       string `json:"name"`
		Operations []struct {
			Name, Kind, Summary string
			Reconciles          bool
			TimeoutMS           int64
			Schema              json.RawMessage
		} `json:"operations"`
	}
	refusedService struct {
		Service, Reason string
		Endpoint        *string
	}
	hookView struct {
		Workflow                                    eventlog.WorkflowName
		Name, URL, Topic, Verify, Secret, State, ID string
	}
	subscriptionView struct {
		Name, State, Target, About string
		Error                      *string
		Since                      eventlog.Instant
	}
	tokenView struct {
		Name, Role string
		Workflow   *string
		CreatedAt  eventlog.Instant
		CreatedBy  eventlog.Actor
		Last4      string
	}
	loginView struct {
		ID                  eventlog.LoginID
		User                eventlog.Actor
		Role                string
		Workflow, Token     *string
		OpenedAt, ExpiresAt eventlog.Instant
		Current             bool
	}
)

// system shows the log, connectors, workers, hooks, webhooks, tokens and logins of the engine. Parts that the user may
// not see are left out.
func (c *Console) system(v *visit) (string, page, error) {
	view, err := v.system()
	return "system", page{Title: "System", Nav: "system", Body: view}, err
}

func (v *visit) system() (systemView, error) {
	view := systemView{MayTokens: v.may("createToken")}
	if d, err := ask[diagnostics](v, "getDiagnostics", nil); err == nil {
		view.Diagnostics = &d
	}
	connectors, err := ask[struct {
		Items   []connectorView  `json:"items"`
		Refused []refusedService `json:"refused"`
	}](v, "listConnectors", nil)
	if err != nil {
		return view, err
	}
	view.Connectors, view.Refused = connectors.Items, connectors.Refused
	if w, err := ask[worker.Report](v, "getWorkers", nil); err == nil {
		view.Workers = &w
	}
	hooks, err := ask[struct{ Items []hookView }](v, "listHooks", nil)
	if err != nil {
		return view, err
	}
	view.Hooks = hooks.Items
	if s, err := ask[readmodel.Page[subscriptionView]](v, "listSubscriptions", nil); err == nil {
		view.Subscriptions = s.Items
	}
	if view.MayTokens {
		tokens, err := ask[readmodel.Page[tokenView]](v, "listTokens", nil)
		if err == nil {
			view.Tokens = tokens.Items
		}
		view.MayTokens = err == nil
	}
	logins, err := ask[readmodel.Page[loginView]](v, "listLogins", nil)
	if err != nil {
		return view, err
	}
	view.Logins = logins.Items
	view.Clock, err = ask[struct {
		Now    eventlog.Instant `json:"now"`
		Manual bool             `json:"manual"`
	}](v, "getClock", nil)
	return view, err
}

// createToken makes a token and shows it, only this once.
func (c *Console) createToken(w http.ResponseWriter, r *http.Request) {
	v := c.post(w, r)
	if v == nil {
		return
	}
	made, err := ask[struct{ Token string }](v, "createToken", given(r.PostForm, "name", "role", "workflow"))
	if err != nil {
		c.refuse(w, r, v, problemOf(err))
		return
	}
	view, err := v.system()
	if err != nil {
		c.refuse(w, r, v, problemOf(err))
		return
	}
	view.Made = made.Token
	c.render(w, v, http.StatusCreated, "system", page{Title: "System", Nav: "system", Body: view})
}

// testHook makes a request as the sender of a hook would, and sends it if the form says so.
func (c *Console) testHook(w http.ResponseWriter, r *http.Request) {
	v := c.post(w, r)
	if v == nil {
		return
	}
	fields := map[string]any{"workflow": r.PostForm.Get("workflow"), "hook": r.PostForm.Get("hook"),
		"send": r.PostForm.Get("send") != ""}
	if body := r.PostForm.Get("body"); body != "" {
		fields["body"] = body
	}
	type sample struct {
		URL, Curl, Variable string
		Sent                *struct {
			Status    int
			Body      string
			MessageID *string
		}
	}
	made, err := ask[sample](v, "testHook", fields)
	if err != nil {
		c.refuse(w, r, v, problemOf(err))
		return
	}
	c.render(w, v, http.StatusOK, "hooktest", page{Title: "Test of a hook", Nav: "system", Body: struct {
		sample
		Workflow, Hook string
	}{made, r.PostForm.Get("workflow"), r.PostForm.Get("hook")}})
}

// grant changes what a workflow may do, one capability at a time.
func (c *Console) grant(w http.ResponseWriter, r *http.Request) {
	v := c.post(w, r)
	if v == nil {
		return
	}
	name, capability, grant := r.PostForm.Get("workflow"), r.PostForm.Get("capability"), r.PostForm.Get("grant")
	if capability == "" || grant == "" {
		c.refuse(w, r, v, rpc.Malformed("grant.invalid", "The form names no capability, or no grant."))
		return
	}
	_, err := ask[json.RawMessage](v, "changeGrants", map[string]any{"workflow": name,
		"grants": map[string]string{capability: grant}})
	if err != nil {
		c.refuse(w, r, v, problemOf(err))
		return
	}
	v.say(w, "Done: "+clip(80, name)+" is now "+grantSays[grant]+" "+clip(80, capability)+".")
	v.lead(w, backTo(Base+"workflows/"+name+"/state"))
}

var grantSays = map[string]string{"allow": "allowed", "ask": "asked before each call of", "deny": "denied"}

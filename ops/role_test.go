package ops

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/embeddednats/natstest"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
)

// TestRoles: every operation asks for one of the four roles, and for the one that design says.
func TestRoles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role rpc.Role
		may  []rpc.Role
	}{
		{rpc.Viewer, []rpc.Role{rpc.Viewer}}, {rpc.Ingest, []rpc.Role{rpc.Ingest}},
		{rpc.Operator, []rpc.Role{rpc.Viewer, rpc.Ingest, rpc.Operator}},
		{rpc.Admin, []rpc.Role{rpc.Viewer, rpc.Ingest, rpc.Operator, rpc.Admin}}, {"", nil}, {"root", nil},
	} {
		for _, need := range []rpc.Role{rpc.Viewer, rpc.Ingest, rpc.Operator, rpc.Admin} {
			if got := c.role.Covers(need); got != slices.Contains(c.may, need) {
				t.Errorf("%q covers %q: %t", c.role, need, got)
			}
		}
	}
	admins := map[string]bool{"setGrants": true, "changeGrants": true, "callConnector": true, "createToken": true,
		"listTokens": true, "revokeToken": true, "describeBackup": true, "readBackup": true,
		"getHealthReport": true}
	// What reads only, though it is sent by POST, and what is about logins of one's own.
	viewers := map[string]bool{"validateScript": true, "verifyLog": true, "createLogin": true, "closeLogin": true}
	for _, o := range Operations() {
		want := rpc.Operator
		switch {
		case o.ID == "pushEvents":
			want = rpc.Ingest
		case admins[o.ID]:
			want = rpc.Admin
		case o.Method == "GET" || viewers[o.ID]:
			want = rpc.Viewer
		}
		if o.Role != want {
			t.Errorf("%s asks for %s, want %s", o.ID, o.Role, want)
		}
	}
}

// TestEachRoleOnEachOperation tries each operation of the table with a token of each role, and with none, over HTTP and
// over NATS: it is refused by name where the role does not do, before anything else of the request is looked at, and by
// nothing of that kind where it does. Nothing is recorded.
func TestEachRoleOnEachOperation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	nc := natstest.Connect(t, natstest.NewServer(t, natstest.Fast))
	service, err := b.server.StartNATS(rpc.NATSConfig{Conn: nc})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop() }()
	roles := []rpc.Role{rpc.Viewer, rpc.Ingest, rpc.Operator, rpc.Admin, ""}
	tokens := map[rpc.Role]string{"": "pawl_none"}
	for _, role := range roles[:4] {
		tokens[role] = b.create(string(role), string(role), "")
	}
	before := b.last()
	for _, o := range Operations() {
		path, params := o.Path, map[string]any{}
		names, _, _ := o.Params()
		for _, name := range names {
			path, params[name] = strings.Replace(path, "{"+name+"}", "nosuch", 1), "nosuch"
		}
		request, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		body := ""
		if o.Method != http.MethodGet && o.Method != http.MethodDelete {
			body = "{}"
		}
		for _, role := range roles {
			status, code := http.StatusForbidden, "role.insufficient"
			if role == "" {
				status, code = http.StatusUnauthorized, "token.required"
			}
			over := map[string]*rpc.Problem{}
			res, answer := b.request(o.Method, path, body, with(tokens[role])...)
			over["HTTP"] = problemIn(res.StatusCode, answer)
			said := ask(t, nc, "pawl.api."+o.ID, string(request), rpc.TokenHeader, tokens[role])
			at, _ := strconv.Atoi(said.Header.Get(micro.ErrorCodeHeader))
			over["NATS"] = problemIn(at, said.Data)
			for way, p := range over {
				if o.Private && way == "NATS" && role.Covers(o.Role) && p.Code == "operation.private" {
					continue // it answers with a secret
				}
				refused := p.Status == status && p.Code == code
				if refused == role.Covers(o.Role) || !refused && (p.Status == 401 || p.Status == 403) {
					t.Errorf("%s as %q over %s: %d %s", o.ID, role, way, p.Status, p.Code)
				}
			}
		}
	}
	if after := b.last(); after != before {
		t.Errorf("the log went from %d to %d", before, after)
	}
}

// problemIn is the problem that an answer holds, without a code where it holds none.
func problemIn(status int, answer []byte) *rpc.Problem {
	var p rpc.Problem
	if json.Unmarshal(answer, &p) != nil {
		p = rpc.Problem{}
	}
	p.Status = status
	return &p
}

// TestPermit: a caller of one workflow sees that one only; what shows all workflows is refused to it or
// narrowed, by name in this test.
func TestPermit(t *testing.T) {
	t.Parallel()
	one := &rpc.Caller{Role: rpc.Admin, Workflow: "shop"}
	narrows := []string{
		"listWorkflows", "deployWorkflow", "validateScript", "explainAll", "listConnectors", "getClock", "getCaller",
		"approveMutation", "rejectMutation", "resolveMutation", "approveMutations", "rejectMutations", "resolveMutations",
		"createLogin", "listLogins", "closeLogin", "listRuns", "listEvents", "listJobs", "listMutations", "getMutation",
		"listInputs", "listSessions",
	}
	refused := []string{"getDiagnostics", "verifyLog", "getWorkers", "getCluster", "callConnector", "advanceClock",
		"createToken", "listTokens", "revokeToken", "listSubscriptions", "resumeSubscription", "describeBackup", "readBackup",
		"getHealthReport"}
	for _, o := range table {
		request := o.Request.New()
		s, isScoped := request.(rpc.Scoped)
		p := o.Permit(one, request)
		switch {
		case slices.Contains(refused, o.ID):
			if p == nil || p.Code != "workflow.forbidden" {
				t.Errorf("%s: %+v", o.ID, p)
			}
			continue
		case p != nil:
			t.Errorf("%s without a workflow: %+v", o.ID, p)
		case o.Narrows:
			if !slices.Contains(narrows, o.ID) {
				t.Errorf("%s narrows what it answers: does it, and is there a test?", o.ID)
			}
			continue
		case !isScoped || *s.Scope() != "shop":
			t.Errorf("%s is not narrowed to the caller's workflow: %+v", o.ID, request)
			continue
		}
		*s.Scope() = "other"
		if p := o.Permit(one, request); p == nil || p.Code != "workflow.forbidden" {
			t.Errorf("%s of another workflow: %+v", o.ID, p)
		}
		if p := o.Permit(&rpc.Caller{Role: rpc.Admin}, request); p != nil {
			t.Errorf("%s with a token for all: %+v", o.ID, p)
		}
	}
	for _, o := range table {
		for _, role := range []rpc.Role{rpc.Viewer, rpc.Ingest, rpc.Operator} {
			if p := o.Permit(&rpc.Caller{Role: role}, o.Request.New()); (p == nil) != role.Covers(o.Role) {
				t.Errorf("%s with role %s: %+v", o.ID, role, p)
			}
		}
	}
}

// TestOneWorkflow: operations about all workflows answer a caller of one workflow with that one only.
func TestOneWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAsk)
	b.deploy("other", "send", eventlog.GrantAsk)
	b.push("shop", "1")
	b.push("other", "2")
	b.engine.Rest("shop")
	b.engine.Rest("other")
	call := func(id, request string) (int, map[string]any, *rpc.Problem) {
		o, _ := Lookup(id)
		c := &Call{Caller: rpc.Caller{Role: rpc.Admin, Workflow: "shop", Actor: eventlog.Actor{Kind: "user", Name: "ann"}},
			backend: b.server.backend, leave: t.Context()}
		status, body, p := b.server.dispatch(t.Context(), &o, c, []byte(request))
		if p != nil {
			return p.Status, nil, p
		}
		return status, mustJSON(t, body), nil
	}
	for _, kind := range []string{"Runs", "Events", "Jobs", "Mutations", "Inputs", "Sessions"} {
		_, all, p := call("list"+kind, `{}`)
		_, own, q := call("listWorkflow"+kind, `{"workflow":"shop"}`)
		if p != nil || q != nil || !reflect.DeepEqual(all, own) || len(listOf(own["items"])) == 0 && kind != "Inputs" {
			t.Errorf("list%s: %+v, %+v\n%v\nlistWorkflow%s: %v", kind, p, q, all, kind, own)
		}
	}
	for _, id := range []string{"listWorkflows", "explainAll", "readLog"} {
		_, answer, p := call(id, `{}`)
		if p != nil {
			t.Errorf("%s: %+v", id, p)
			continue
		}
		items := listOf(answer["items"])
		if len(items) == 0 {
			t.Errorf("%s lists nothing: %v", id, answer)
		}
		for _, item := range items {
			object := item.(map[string]any)
			if name := object["workflow"]; name != "shop" && object["name"] != "shop" {
				t.Errorf("%s shows %v", id, object)
			}
		}
	}
	foreign := b.only("other")
	before := b.last()
	for _, id := range []string{"getMutation", "approveMutation", "rejectMutation"} {
		if _, _, p := call(id, `{"mutation":"`+foreign+`"}`); p == nil || p.Code != "workflow.forbidden" {
			t.Errorf("%s of another workflow: %+v", id, p)
		}
	}
	for _, id := range []string{"approveMutations", "rejectMutations", "resolveMutations"} {
		request := `{"workflow":"other"}`
		if id == "resolveMutations" {
			request = `{"workflow":"other","resolution":"skip"}`
		}
		if _, _, p := call(id, request); p == nil || p.Code != "workflow.forbidden" {
			t.Errorf("%s of another workflow: %+v", id, p)
		}
	}
	for _, item := range []string{`"id":"` + foreign + `"`, `"id":"` + foreign + `","workflow":"other"`,
		`"id":"` + foreign + `","workflow":"shop"`} {
		_, answer, p := call("rejectMutations", `{"items":[{`+item+`}]}`)
		if p != nil || answer["updated"] != 0.0 || len(listOf(answer["noop"])) != 1 {
			t.Errorf("a rejection of %s: %v, %+v", item, answer, p)
		}
	}
	_, own, p := call("approveMutations", `{"held":"approval","dryRun":true}`)
	if p != nil || own["matched"] != 1.0 || listOf(own["items"])[0].(map[string]any)["workflow"] != "shop" {
		t.Errorf("what awaits approval: %v, %+v", own, p)
	}
	if _, _, p := call("deployWorkflow", `{"source":`+quoted(t, orders("other", "send")+"// changed")+`}`); p == nil ||
		p.Code != "workflow.forbidden" {
		t.Errorf("deploy of another workflow: %+v", p)
	}
	if b.last() != before {
		t.Error("something was recorded")
	}
	if status, _, p := call("deployWorkflow", `{"source":`+quoted(t, orders("shop", "send")+"// changed")+`}`); p != nil ||
		status != 201 {
		t.Errorf("deploy of its own workflow: %d %+v", status, p)
	}
	if _, _, p := call("getMutation", `{"mutation":"`+b.only("shop")+`"}`); p != nil {
		t.Errorf("its own mutation: %+v", p)
	}
}

// TestDeployWithGrants: a caller that may deploy may not say what the script may do.
func TestDeployWithGrants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	deploy := func(role rpc.Role, grants string) *rpc.Problem {
		o, _ := Lookup("deployWorkflow")
		c := &Call{Caller: rpc.Caller{Role: role, Actor: eventlog.Actor{Kind: "user", Name: "ann"}},
			backend: b.server.backend,
			leave:   t.Context()}
		_, _, p := b.server.dispatch(t.Context(), &o, c, []byte(`{"source":`+quoted(t, orders("shop", "send"))+grants+`}`))
		return p
	}
	if p := deploy(rpc.Operator, `,"grants":{"*":"allow"}`); p == nil || p.Code != "role.insufficient" || b.last() != 0 {
		t.Errorf("an operator gives grants: %+v", p)
	}
	if p := deploy(rpc.Operator, ""); p != nil {
		t.Errorf("an operator deploys: %+v", p)
	}
	if p := deploy(rpc.Admin, `,"grants":{"*":"allow"}`); p != nil {
		t.Errorf("an admin gives grants: %+v", p)
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantAlone: an engine without others says so, and names the partitions of its log.
func wantAlone(t *testing.T, cluster map[string]any) {
	t.Helper()
	if cluster["shared"] != false || len(cluster["partitions"].([]any)) == 0 {
		t.Errorf("getCluster: %v", cluster)
	}
}

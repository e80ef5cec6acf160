package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/enginetest"
	"github.com/pawl-run/pawl/eventlog"
)

// TestEveryOperation calls each operation of the table once with success, over HTTP and over NATS, and
// holds every answer against the OpenAPI document.
func TestEveryOperation(t *testing.T) {
	for name, by := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			callEveryOperation(t, by)
		})
	}
}

func callEveryOperation(t *testing.T, by func(*bundle)) {
	start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	b := setup(t, manualClock(start), runLog(), calls(), parked(t), recorded(t))
	overHTTP := b.client
	by(b)
	schemas := newSchemas(t, b.document())
	called := map[string]bool{}
	call := func(id string, want int, params map[string]any) map[string]any {
		t.Helper()
		o, _ := Lookup(id)
		client := b.client
		if o.Private && client.NATS != nil {
			checkCode(t, client.Do(t.Context(), id, params, nil), "operation.private")
			client = overHTTP
		}
		var answer json.RawMessage
		status, err := client.DoStatus(t.Context(), id, params, &answer)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if status != want {
			t.Errorf("%s answered %d, want %d", id, status, want)
		}
		schemas.validate(&o, strconv.Itoa(status), "application/json", answer)
		called[id] = true
		if answer[0] == '[' {
			return nil
		}
		return mustJSON(t, answer)
	}
	with := func(pairs ...any) map[string]any {
		m := map[string]any{"workflow": "shop"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}

	if v := call("getCaller", 200, nil); v["role"] != "admin" || v["workflow"] != nil || v["name"] != "ann" {
		t.Errorf("caller: %v", v)
	}
	source := orders("shop", "fire")
	if v := call("validateScript", 200, map[string]any{"source": source, "filename": "shop.ts"}); v["ok"] != true ||
		v["workflow"] != "shop" {
		t.Errorf("validate: %v", v)
	}
	if v := call("validateScript", 200, map[string]any{"source": "export default 1"}); v["ok"] != false ||
		len(v["problems"].([]any)) == 0 {
		t.Errorf("validate of a bad script: %v", v)
	}
	unnamed := call("validateScript", 200,
		map[string]any{"source": strings.Replace(source, `name: "shop"`, `name: "a shop"`, 1), "filename": "shop.ts"})
	if p := unnamed["problems"].([]any)[0].(map[string]any); p["code"] != "name.workflow" || p["line"] != 3.0 ||
		p["column"] != 3.0 || p["fix"] != `use name: "a-shop"` || unnamed["ok"] != false {
		t.Errorf("validate of a bad name: %v", unnamed)
	}
	deployed := call("deployWorkflow", 201, map[string]any{"source": source, "filename": "shop.ts"})
	if deployed["name"] != "shop" || deployed["version"] != "1.0" || len(deployed["warnings"].([]any)) != 0 ||
		deployed["asks"].([]any)[0] != "world.fire" {
		t.Errorf("deploy: %v", deployed)
	}
	b.engine.Rest("shop")
	if again := call("deployWorkflow", 200, map[string]any{"source": source, "filename": "shop.ts",
		"expectedVersion": "1.0"}); again["version"] != "1.0" {
		t.Errorf("deploy of the same: %v", again)
	}
	if v := call("listWorkflows", 200, map[string]any{"status": "active"}); len(v["items"].([]any)) != 1 {
		t.Errorf("workflows: %v", v)
	}
	call("getWorkflow", 200, with())
	if v := call("getSource", 200, with("version", "1.0")); v["source"] != source ||
		v["deployedBy"].(map[string]any)["name"] != "ann" {
		t.Errorf("source: %v", v)
	}
	versionsOf(t, call, with)
	if v := call("getGrants", 200, with()); v["operations"].([]any)[0].(map[string]any)["grant"] != "ask" {
		t.Errorf("grants: %v", v)
	}
	if v := call("explainWorkflow", 200, with()); v["moving"] != false || v["reason"] != "scheduled" ||
		v["subject"] != "poll" {
		t.Errorf("why: %v", v)
	}

	// One order is approved, one rejected, and the outcome of one is not known.
	pushed := call("pushEvents", 200,
		with("topic", "order.in", "events", map[string]any{"messageId": "a/1", "title": "A"}))
	if pushed["messageId"] != "a/1" || pushed["result"] != "created" || pushed["status"] != "pending" {
		t.Errorf("push: %v", pushed)
	}
	b.engine.Rest("shop")
	approve := b.only("shop")
	m := call("getMutation", 200, map[string]any{"mutation": approve})
	if m["status"] != "awaiting_approval" {
		t.Fatalf("mutation: %v", m)
	}
	if v := call("approveMutations", 200, map[string]any{"workflow": "shop", "dryRun": true}); v["matched"] != 1.0 ||
		v["updated"] != 0.0 || listOf(v["items"])[0].(map[string]any)["paramsHash"] != m["paramsHash"] {
		t.Errorf("a count: %v", v)
	}
	call("approveMutation", 200, map[string]any{"mutation": approve, "paramsHash": m["paramsHash"], "comment": "fine"})
	if v := call("rejectMutations", 200,
		map[string]any{"items": []any{map[string]any{"id": approve}}}); v["updated"] != 0.0 ||
		listOf(v["noop"])[0].(map[string]any)["code"] != "mutation.state" {
		t.Errorf("a rejection after the approval: %v", v)
	}
	if v := call("resolveMutations", 200, map[string]any{"q": "nothing like this",
		"resolution": "skip"}); v["matched"] != 0.0 || len(listOf(v["items"])) != 0 {
		t.Errorf("resolve nothing: %v", v)
	}
	b.engine.Rest("shop")
	b.push("shop", "b")
	b.engine.Rest("shop")
	items := call("listWorkflowMutations", 200, with("order", "desc"))["items"].([]any)
	rejected := items[0].(map[string]any)["id"].(string)
	if v := call("rejectMutation", 200, map[string]any{"mutation": rejected}); v["resolvedBy"] != "user_reject" {
		t.Errorf("reject: %v", v)
	}
	b.engine.Rest("shop")
	if v := call("setGrants", 200,
		with("grants", map[string]any{"world.fire": "allow"}),
	); v["operations"].([]any)[0].(map[string]any)["grant"] != "allow" {
		t.Errorf("set grants: %v", v)
	}
	if v := call("changeGrants", 200,
		with("grants", map[string]any{"world.*": "deny"})); len(v["grants"].(map[string]any)) != 2 ||
		v["operations"].([]any)[0].(map[string]any)["grant"] != "allow" {
		t.Errorf("change grants: %v", v)
	}
	for _, c := range [][3]string{ // the map alone is the same over HTTP
		{"PUT", `{"world.fire":"ask","*":"deny"}`, `{"*":"deny","world.fire":"ask"}`},
		{"PATCH", `{"world.fire":"allow","*":null}`, `{"world.fire":"allow"}`},
		{"PUT", `{"grants":{}}`, `{}`},
		{"PUT", `{"grants":{"world.fire":"allow"}}`, `{"world.fire":"allow"}`},
	} {
		if res, body := b.request(c[0], "/v1/workflows/shop/grants", c[1]); res.StatusCode != 200 ||
			!strings.HasPrefix(string(body), `{"grants":`+c[2]) {
			t.Errorf("%s %s: %d %s", c[0], c[1], res.StatusCode, body)
		}
	}
	b.uncertain()
	b.push("shop", "c")
	b.engine.Rest("shop")
	if v := call("explainWorkflow", 200, with()); v["reason"] != "indeterminate" {
		t.Errorf("why: %v", v)
	}
	items = call("listMutations", 200, map[string]any{"status": "indeterminate"})["items"].([]any)
	unknown := items[0].(map[string]any)["id"].(string)
	if v := call("resolveMutation", 200,
		map[string]any{"mutation": unknown, "resolution": "skip"}); v["resolvedBy"] != "user_skip" {
		t.Errorf("resolve: %v", v)
	}
	b.engine.Rest("shop")

	for _, kind := range []string{"Runs", "Events", "Jobs", "Mutations", "Inputs", "Sessions"} {
		one := call("listWorkflow"+kind, 200, with())["items"].([]any)
		all := call("list"+kind, 200, nil)["items"].([]any)
		if len(one) < 3 || len(one) != len(all) {
			t.Errorf("%s: %d of the workflow, %d across workflows", kind, len(one), len(all))
		}
		first := all[0].(map[string]any)
		switch kind {
		case "Runs", "Inputs", "Sessions":
			what := strings.TrimSuffix(kind, "s")
			if v := call("get"+what, 200, with(strings.ToLower(what), first["id"])); v["id"] != first["id"] {
				t.Errorf("get%s %v answers %v", what, first["id"], v)
			}
		}
		if kind == "Inputs" {
			if v := call("traceInput", 200, with("input", first["id"])); v["complete"] != true {
				t.Errorf("the trace of %v: %v", first["id"], v)
			}
		}
		if first["workflow"] != "shop" {
			t.Errorf("%s across workflows do not name theirs: %v", kind, first)
		}
	}
	event := call("getEvent", 200, with("topic", "order.in", "messageId", "a/1"))
	if event["status"] != "consumed" || event["payload"] != nil {
		t.Errorf("event: %v", event)
	}
	if job := call("getJob", 200, with("topic", "order.in", "messageId", "b")); job["state"] != "cancelled" ||
		job["consumer"] != "send" {
		t.Errorf("job: %v", job)
	}
	if v := call("listWorkflowHandlers", 200, with()); len(v["items"].([]any)) != 2 {
		t.Errorf("handlers: %v", v)
	}
	if v := call("explainAll", 200, nil); len(v["items"].([]any)) != 1 {
		t.Errorf("why of all: %v", v)
	}
	now := call("getState", 200, with())["workflow"].(map[string]any)
	first := call("getState", 200, with("at", 1))
	if first["workflow"].(map[string]any)["version"] != "1.0" || len(first["events"].([]any)) != 0 ||
		now["name"] != "shop" {
		t.Errorf("state at 1: %v", first)
	}
	if past := call("glimpsePast", 200, with("at", 1)); past["then"].(map[string]any)["at"] == nil {
		t.Errorf("a glimpse of revision 1: %v", past)
	}
	// The past is told in the words of the present: each list is what the lists of the present hold.
	whole := call("getState", 200, with())
	for list, id := range map[string]string{"runs": "Runs", "mutations": "Mutations", "events": "Events", "jobs": "Jobs",
		"inputs": "Inputs", "sessions": "Sessions", "handlers": "Handlers"} {
		lists := call("listWorkflow"+id, 200, with())["items"].([]any)
		past := byName(whole[list].([]any))
		if present := byName(lists); len(present) == 0 && list != "inputs" || !reflect.DeepEqual(past, present) {
			t.Errorf("state has %s %v\nthe list has %v", list, past, present)
		}
	}
	if one := call("getWorkflow", 200, with()); !reflect.DeepEqual(whole["workflow"], any(one)) {
		t.Errorf("state has workflow %v\nnow it is %v", whole["workflow"], one)
	}
	if v := call("listConnectors", 200, nil); len(v["items"].([]any)) != 1 || len(v["refused"].([]any)) != 0 {
		t.Errorf("connectors: %v", v)
	}
	wantAlone(t, call("getCluster", 200, nil))
	if v := call("getWorkers", 200, nil); v["sandbox"] != "full" || len(v["workers"].([]any)) != 1 {
		t.Errorf("workers: %v", v)
	}
	if v := call("getDiagnostics", 200, nil); v["log"].(map[string]any)["ok"] != true ||
		len(v["orphanedReservations"].([]any)) != 0 {
		t.Errorf("diagnostics: %v", v)
	}
	if v := call("verifyLog", 200, nil); v["ok"] != true || v["workflows"] != 1.0 ||
		v["transitions"] != float64(b.last()) {
		t.Errorf("verify: %v", v)
	}
	callEvents(t, b, call)
	callRepair(t, b, call)
	if v := call("getClock", 200, nil); v["now"] != "2026-03-01T08:00:00Z" || v["manual"] != true {
		t.Errorf("clock: %v", v)
	}
	before := b.last()
	if v := call("advanceClock", 200, map[string]any{"by": "90m"}); v["now"] != "2026-03-01T09:30:00Z" {
		t.Errorf("clock: %v", v)
	}
	if b.last() == before {
		t.Error("the hourly producer did not run within 90 minutes")
	}
	before = b.last()
	if v := call("runWorkflow", 200, with()); fmt.Sprint(v["producers"]) != "[map[behind:<nil> name:poll runs:now]]" ||
		v["name"] != "shop" {
		t.Errorf("run-now: %v", v)
	}
	b.engine.Rest("shop")
	if b.last() == before {
		t.Error("run-now left no trace")
	}
	if v := call("pauseWorkflow", 200, with()); v["userPaused"] != true || v["status"] != "paused" {
		t.Errorf("pause: %v", v)
	}
	if v := call("resumeWorkflow", 200, with()); v["userPaused"] != false {
		t.Errorf("resume: %v", v)
	}
	call("deployWorkflow", 201, map[string]any{"source": hooked("posts"), "filename": "posts.ts"})
	if v := listOf(call("listHooks", 200, nil)["items"]); len(v) != 1 ||
		v[0].(map[string]any)["state"] != "ready" || v[0].(map[string]any)["workflow"] != "posts" {
		t.Errorf("hooks: %v", v)
	}
	if v := listOf(call("listHooks", 200, with())["items"]); len(v) != 0 {
		t.Errorf("hooks of another workflow: %v", v)
	}
	tried := call("testHook", 200, map[string]any{"workflow": "posts", "hook": "open", "send": true,
		"body": `{"id":"h1"}`})
	if sent := tried["sent"].(map[string]any); sent["messageId"] != "h1" || sent["status"] != 202.0 {
		t.Errorf("a sample of a hook: %v", tried)
	}
	if v := call("archiveWorkflow", 200, with()); v["status"] != "archived" {
		t.Errorf("archive: %v", v)
	}
	call("readLog", 200, map[string]any{"workflow": "shop", "from": "2", "limit": 3})
	copies(t, call)
	callTokens(t, call)
	callLogins(t, b, overHTTP, call)
	if v := listOf(call("listSubscriptions", 200, nil)["items"]); len(v) != 1 ||
		v[0].(map[string]any)["state"] != "parked" {
		t.Errorf("subscriptions: %v", v)
	}
	if v := call("resumeSubscription", 200, map[string]any{"name": "warehouse"}); v["state"] == "parked" {
		t.Errorf("resumed: %v", v)
	}

	for _, o := range Operations() {
		if !called[o.ID] {
			t.Errorf("operation %s was not called", o.ID)
		}
	}
	// The log names the actor of what ann did (O10).
	for record, err := range b.bench.Log.ReadWorkflow(t.Context(), "shop", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if record.Kind == "workflow.archived" && record.Actor != (eventlog.Actor{Kind: "user", Name: "ann"}) {
			t.Errorf("archived by %+v", record.Actor)
		}
	}
}

// What was found and is not offered is listed with the reason, whole services and single endpoints.
func TestRefusedServicesAreListed(t *testing.T) {
	t.Parallel()
	endpoint := "append"
	b := setup(t, func(c *Config, _ *enginetest.Harness) {
		c.Refused = func(context.Context) []RefusedService {
			return []RefusedService{{Service: "log", Reason: "the name is reserved"},
				{Service: "sheets", Endpoint: &endpoint, Reason: "its subject is shared"}}
		}
	})
	resp, body := b.request("GET", "/v1/connectors", "")
	want := `"refused":[{"service":"log","endpoint":null,"reason":"the name is reserved"},{"service":"sheets",` +
		`"endpoint":"append","reason":"its subject is shared"}]`
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil || resp.StatusCode != 200 ||
		!strings.Contains(compact.String(), want) {
		t.Errorf("%s: %s", resp.Status, body)
	}
	for _, field := range []string{`"items":[{"name":"world"`, `"next":null`} {
		if !strings.Contains(compact.String(), field) {
			t.Errorf("lacks %s: %s", field, body)
		}
	}
}

// TestOpenAPI holds the document against the routes.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	res, body := b.request("GET", "/v1/openapi.json", "")
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		t.Fatalf("%d %s", res.StatusCode, res.Header)
	}
	document := mustJSON(t, body)
	if document["openapi"] != "3.1.0" {
		t.Errorf("openapi %v", document["openapi"])
	}
	if servers := listOf(document["servers"]); len(servers) != 1 {
		t.Errorf("servers %v", servers)
	}
	paths := document["paths"].(map[string]any)
	var ids []string
	for path, methods := range paths {
		for method, described := range methods.(map[string]any) {
			d := described.(map[string]any)
			id := d["operationId"].(string)
			ids = append(ids, id)
			// Every documented route is there: it is not an unknown path.
			res, _ := b.request(strings.ToUpper(method), strings.NewReplacer("{", "", "}", "").Replace(path), "")
			if res.StatusCode == http.StatusMethodNotAllowed || res.StatusCode == 404 && !strings.Contains(path, "{") {
				t.Errorf("%s %s is documented and answers %d", method, path, res.StatusCode)
			}
			for _, family := range []string{"4XX", "5XX"} {
				if d["responses"].(map[string]any)[family] == nil {
					t.Errorf("%s does not say how it answers %s", id, family)
				}
			}
			if o, ok := Lookup(id); ok && (o.Path != path || !strings.EqualFold(o.Method, method)) {
				t.Errorf("%s is documented as %s %s", id, method, path)
			}
			for _, p := range listOf(d["parameters"]) {
				if p.(map[string]any)["in"] == "path" && !strings.Contains(path, "{"+p.(map[string]any)["name"].(string)+"}") {
					t.Errorf("%s: parameter %v", id, p)
				}
			}
		}
	}
	for _, o := range Operations() {
		if !slices.Contains(ids, o.ID) {
			t.Errorf("operation %s is not documented", o.ID)
		}
		if path, _, _ := o.Params(); len(path) != strings.Count(o.Path, "{") {
			t.Errorf("operation %s binds %v", o.ID, path)
		}
	}
	slices.Sort(ids)
	if len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("operation ids are not unique: %v", ids)
	}
}

// TestFieldNames pins the names that are part of the interface.
func TestFieldNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", eventlog.GrantAllow)
	b.push("shop", "a")
	b.engine.Rest("shop")
	for id, want := range map[string]string{
		"getWorkflow": "attention blocked concurrency counts maintenance name pendingRetryRun repair revision " +
			"status userPaused version",
		"listWorkflowRuns": "endedAt error eventCount events handler handlerType id mutation mutationOutcome phase " +
			"prepareResult retryOf session startedAt status version workflow",
		"listWorkflowEvents": "causedBy createdBy decision held messageId payload publishedAt reservedBy status title topic",
		"listWorkflowJobs": "attempt attempts consumer error finalizedAt held maxAttempts messageId publishedAt " +
			"scheduledAt state title topic",
		"listWorkflowMutations": "comment connector deadline decision error eventCount events id idempotencyKey " +
			"operation params paramsHash reconcileAttempts requestedAt resolvedBy result run settledAt startedAt status " +
			"uiTitle version workflow",
		"listWorkflowInputs":   "externalId id outputs receivedAt source status title type",
		"listWorkflowSessions": "endedAt id result runs startedAt",
		"listWorkflowHandlers": "concurrency held key name nextRunAt probing rate schedule type wakeAt",
		"getDiagnostics":       "contradictions log orphanedReservations stopped subscriptions unread",
	} {
		var answer map[string]any
		params := map[string]any{"workflow": "shop"}
		if id == "getDiagnostics" {
			params = nil
		}
		b.do(id, params, &answer)
		if items, ok := answer["items"].([]any); ok {
			if got := keys(answer); !slices.Equal(got, []string{"items", "next"}) {
				t.Errorf("%s answers %v", id, got)
			}
			answer = items[len(items)-1].(map[string]any)
			if id == "listWorkflowHandlers" {
				answer = items[1].(map[string]any) // never saved: no state
			}
		}
		if got := strings.Join(keys(answer), " "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", id, got, want)
		}
	}
}

// byName sorts a list's items by their names.
func byName(items []any) []any {
	name := func(v any) string {
		o := v.(map[string]any)
		return fmt.Sprint(o["id"], o["name"], o["topic"], o["messageId"])
	}
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b any) int { return strings.Compare(name(a), name(b)) })
	return items
}

package ops

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/ops/rpc"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// A filter that nothing can ever fit is refused: an empty list would be taken for an answer.
func TestImpossibleFiltersAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deploy("shop", "send", "allow")
	for path, words := range map[string]string{
		"/v1/workflows?status=banana":                       `status "banana" active paused error archived`,
		"/v1/workflows?status=":                             `status ""`,
		"/v1/workflows?order=up":                            `order "up" asc desc`,
		"/v1/runs?status=broken":                            `status "broken" failed:logic paused:reconciliation`,
		"/v1/runs?phase=done":                               `phase "done" mutating`,
		"/v1/runs?handler=1st":                              `handler "1st" identifier`,
		"/v1/runs?limit=-3":                                 "limit -3 1 1000",
		"/v1/runs?limit=0":                                  "limit 0 1 1000",
		"/v1/events?status=available":                       `status "available" discarded`,
		"/v1/events?state=pending":                          `state "pending" available retryable`,
		"/v1/events?topic=a..b":                             `topic "a..b"`,
		"/v1/jobs?state=Available":                          `state "Available" available`,
		"/v1/mutations?status=done":                         `status "done" awaiting_approval indeterminate`,
		"/v1/inputs?status=consumed":                        `status "consumed" pending done skipped`,
		"/v1/sessions?status=skipped":                       `status "skipped" completed failed`,
		"/v1/sessions?class=logic":                          `"class" status`,
		"/v1/workflows/shop/runs?status=banana":             `status "banana"`,
		"/v1/workflows/shop/sessions?status=banana":         `status "banana"`,
		"/v1/workflows/shop/mutations?limit=ten":            `limit "ten"`,
		"/v1/workflows/not%20one/runs":                      `{workflow} "not one" [A-Za-z0-9]`,
		"/v1/workflows/shop/events/a..b/x":                  `{topic} "a..b"`,
		"/v1/workflows/shop/events/order.in/a%00b":          `{messageId} control`,
		"/v1/workflows/shop/state?at=-1":                    `at "-1"`,
		"/v1/log?workflow=not%20one":                        `workflow "not one"`,
		"/v1/log?limit=-1":                                  "limit -1 1",
		"/v1/workflows/" + strings.Repeat("x", 65) + "/why": "{workflow}",
	} {
		res, body := b.request("GET", path, "")
		p := mustJSON(t, body)
		if res.StatusCode != 400 || res.Header.Get("Content-Type") != rpc.ProblemType {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
		hint, _ := p["hint"].(string)
		for word := range strings.SplitSeq(words, " ") {
			if !strings.Contains(p["detail"].(string)+hint, word) {
				t.Errorf("%s does not say %s: %v %v", path, word, p["detail"], p["hint"])
			}
		}
	}
	// The same over NATS, where all fields are in one object.
	call := &Call{Caller: rpc.Caller{Actor: eventlog.Actor{Kind: "user", Name: "ann"}, Role: rpc.Admin},
		backend: b.server.backend,
		leave:   t.Context()}
	dispatch := func(id, object string) *rpc.Problem {
		o, ok := Lookup(id)
		if !ok {
			t.Fatalf("there is no operation %s", id)
		}
		_, _, p := b.server.dispatch(t.Context(), &o, call, []byte(object))
		return p
	}
	for object, code := range map[string]string{
		`{"status":"banana"}`: "field.invalid", `{"limit":0}`: "field.invalid", `{"colour":"red"}`: "field.unknown",
	} {
		if p := dispatch("listRuns", object); p == nil || p.Status != 400 || p.Code != code {
			t.Errorf("%s: %+v", object, p)
		}
	}
	if p := dispatch("listWorkflowRuns", `{"workflow":""}`); p == nil || p.Status != 400 {
		t.Errorf("an empty name lists across workflows: %+v", p)
	}
}

// What can be chosen is what can be: every value that a list can hold is taken.
func TestPossibleFiltersAreTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, o := range Operations() {
		if len(o.Statuses) != 1 || o.Method != "GET" || strings.Contains(o.Path, "{") {
			continue
		}
		_, query, _ := o.Params()
		for _, name := range query {
			for _, value := range Possible(o.ID, name) {
				if res, body := b.request("GET", o.Path+"?"+name+"="+value, ""); res.StatusCode != 200 {
					t.Errorf("%s=%s: %s", name, value, body)
				}
			}
		}
	}
	for _, path := range []string{"/v1/runs?limit=1", "/v1/runs?limit=1000", "/v1/runs?cursor=&q=",
		"/v1/runs?handler=$x_1", "/v1/events?topic=a.b-c", "/v1/log?limit=1"} {
		if res, body := b.request("GET", path, ""); res.StatusCode != 200 {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// TestEnumerationsAreComplete holds every enumeration against the constants of its type in the source.
func TestEnumerationsAreComplete(t *testing.T) {
	t.Parallel()
	ours := reflect.TypeFor[Operation]().PkgPath()
	module := strings.TrimSuffix(ours, "/ops")
	declared := map[string][]string{}
	read := map[string]bool{}
	for typ, schema := range knownTypes {
		if len(schema.Enum) == 0 {
			continue
		}
		for _, pkg := range []string{typ.PkgPath(), ours, ours + "/explain"} {
			if !read[pkg] {
				read[pkg] = true
				constants(t, module, pkg, declared)
			}
		}
	}
	for typ, schema := range knownTypes {
		if len(schema.Enum) == 0 {
			continue
		}
		name := typ.PkgPath()[strings.LastIndex(typ.PkgPath(), "/")+1:] + "." + typ.Name()
		want, got := declared[name], knownTypes.Possible(typ)
		if name == "decide.Reason" {
			// A workflow with an open call is moving, and gives no reason.
			want = slices.DeleteFunc(want, func(v string) bool { return v == string(decide.ReasonCall) })
		}
		if name == "ops.runFilter" {
			want = append(slices.Clone(declared["eventlog.RunStatus"]), readmodel.RunFailed)
		}
		slices.Sort(want)
		slices.Sort(got)
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s can be %q, and %q are listed", name, want, got)
		}
	}
}

// constants adds the values of a package's constants by their types; the empty one stands for none.
func constants(t *testing.T, module, pkg string, into map[string][]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", strings.TrimPrefix(pkg, module), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("source of %s: %v", pkg, err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			var name string
			switch typ := spec.Type.(type) {
			case *ast.Ident:
				name = file.Name.Name + "." + typ.Name
			case *ast.SelectorExpr:
				name = typ.X.(*ast.Ident).Name + "." + typ.Sel.Name
			}
			for _, value := range spec.Values {
				literal, ok := value.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					continue
				}
				if text, err := strconv.Unquote(literal.Value); err == nil && text != "" {
					into[name] = append(into[name], text)
				}
			}
			return true
		})
	}
}

// The document shows what a parameter can be.
func TestOpenAPIShowsWhatIsPossible(t *testing.T) {
	t.Parallel()
	b := setup(t)
	paths := mustJSON(t, b.document())["paths"].(map[string]any)
	schema := func(path, name string) map[string]any {
		for _, p := range listOf(paths[path].(map[string]any)["get"].(map[string]any)["parameters"]) {
			if p := p.(map[string]any); p["name"] == name {
				return p["schema"].(map[string]any)
			}
		}
		t.Fatalf("%s has no parameter %s", path, name)
		return nil
	}
	if got := schema("/v1/workflows/{workflow}/sessions", "status")["enum"]; !slices.Equal(got.([]any),
		[]any{"completed", "failed"}) {
		t.Errorf("status of sessions: %v", got)
	}
	if got := schema("/v1/runs", "limit"); got["minimum"] != 1.0 || got["maximum"] != 1000.0 {
		t.Errorf("limit: %v", got)
	}
	for _, name := range []string{"status", "phase", "order"} {
		if got := schema("/v1/runs", name)["enum"]; len(listOf(got)) < 2 {
			t.Errorf("%s of runs: %v", name, got)
		}
	}
}

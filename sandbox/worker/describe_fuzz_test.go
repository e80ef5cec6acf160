package worker

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/finding"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// FuzzDescribe: whatever a script says, describing it answers with complete problems that stand in it.
func FuzzDescribe(f *testing.F) {
	archives, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatalf("no archives: %v", err)
	}
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	for _, code := range []string{
		"export default Keep.workflow({name:'w',topics:{t:{}},producers:{p({a:{b},...c},[d]=[]," +
			"ctx=this){a.b();with_:for(var[x]of c)try{ctx.x.y()}catch({z}){}finally{}}}})",
		"class A{static{ctx.a.b()}#p=1;get[ctx](){return super.x}}label:while(0)continue label;new.target",
		"export default Keep.workflow({consumers:{c:{subscribe:['t'],mutate:(ctx)=>[ctx.a.b(),ctx.a.c()],prepare:()=>({})," +
			"next:({publish:p})=>p()}}})",
		"export default Keep.workflow({producers:{p(ctx,s){const o={a:1,...s,get " +
			"b(){},[s]:-1n,__proto__:s};ctx.a.b({o,x:[,...s],y:`${s}`,'z':/a/,w(){},v:void 0});ctx.a.b(o)}}})",
	} {
		f.Add(code)
	}
	e := vm.NewExecutor(vm.Config{Scripts: 4, Limits: sandbox.Limits{CPU: 100 * time.Millisecond}})
	f.Fuzz(func(t *testing.T, code string) {
		if len(code) > 8000 {
			return
		}
		d, problems, err := e.Describe(t.Context(), sandbox.Source{Filename: "fuzz.ts", Code: code})
		if err != nil {
			t.Fatal(err)
		}
		lines := 1 + strings.Count(code, "\n") + strings.Count(code, "\r") + strings.Count(code, "\u2028") +
			strings.Count(code, "\u2029")
		for _, p := range problems {
			if p.Severity != sandbox.SeverityError && p.Severity != sandbox.SeverityWarning || p.Code == "" ||
				p.Message == "" || p.Fix == "" {
				t.Errorf("incomplete: %+v", p)
			}
			if p.Line < 0 || p.Line > lines || p.Line > 0 && p.Column < 1 {
				t.Errorf("outside of the %d lines: %+v", lines, p)
			}
		}
		if len(problems) > finding.MaxProblems+1 {
			t.Errorf("%d problems", len(problems))
		}
		for _, call := range d.Calls {
			if at := call.Params.Place; at.Line < 1 || at.Line > lines || at.Column < 1 {
				t.Errorf("the parameters of %s.%s are at %+v of %d lines", call.Connector, call.Operation, at, lines)
			}
		}
		for path, at := range d.Places {
			if at.Line < 1 || at.Line > lines || at.Column < 1 {
				t.Errorf("%s is at %+v of %d lines", path, at, lines)
			}
		}
	})
}

// TestDescribeOfLaboriousScripts: texts that are made to keep the analysis busy get an answer too, be
// it that they passed a limit.
func TestDescribeOfLaboriousScripts(t *testing.T) { // not beside tests that measure time
	if testing.Short() {
		t.Skip("left out by -short: each of its scripts takes a second")
	}
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	producer := func(body string) string {
		return "export default Keep.workflow({ name: 'w', topics: { t: {} }, producers: { async p(ctx) { " + body +
			"\n} } });"
	}
	pool := newPool(t, Config{Limits: sandbox.Limits{CPU: time.Second}})
	for name, code := range map[string]string{
		"undeclared names": producer(repeat(12_000, "a%d;")),
		"similar names":    repeat(8_000, "const name%d = 1;") + producer(repeat(8_000, "nam%d;")),
		"handlers of one function": "const f = async (ctx) => {" + repeat(1_000, "await ctx.a.b%d({});") +
			"};export default Keep.workflow({ name: 'w', topics: {}, producers: {" + repeat(2_000, "p%d: f,") + "} })",
		"aliases in a circle": producer("let x = ctx.peek('t');" + repeat(8_000, "/*%d*/x = x;") +
			repeat(5, "const y%d = x;")),
		"aliases of ctx": producer("let x = ctx;" + repeat(5_000, "const c%[1]d = x; c%[1]d.a.b({});")),
		"members of one constant": "const T = { t: 't' };" +
			producer(repeat(4_000, "await ctx.publish(T.t, { messageId: 'm%d' });")),
		"keys that mean nothing": "export default Keep.workflow({" + repeat(10_000, "k%d: 1,") + "})",
		"keys made at run time": "export default Keep.workflow(Object.fromEntries(Array.from({ length: 100_000 " +
			"}, (_, i) => ['key' + i, 1])))",
		"topics made at run time": "export default Keep.workflow({ name: 'w', topics: " +
			"Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => ['t' + i, {}])), producers: { p() {} } })",
		"a long sum":             producer("return " + strings.Repeat("a+", 1_500) + "1"),
		"calls of calls":         producer("f" + strings.Repeat("(a)", 900) + ";"),
		"functions in functions": producer(strings.Repeat("(() => {", 150) + strings.Repeat("})()", 150)),
		"long words": producer(strings.Repeat("x", 100_000) + ";ctx." + strings.Repeat("y", 100_000) +
			"();"),
		"titles of letters of bytes": producer("await ctx.publish('t', { messageId: ctx.now(), title: '" +
			strings.Repeat("😀", 30_000) + "' })"),
	} {
		t.Run(name, func(t *testing.T) {
			if len(code) > 256<<10 {
				t.Fatalf("the script has %d bytes and would not be looked at", len(code))
			}
			_, problems, err := pool.Describe(t.Context(), sandbox.Source{Filename: "w.ts", Code: code})
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) > finding.MaxProblems+1 {
				t.Errorf("%d problems", len(problems))
			}
			if sandbox.HasErrors(problems) || len(problems) == 0 {
				codes := make([]string, len(problems))
				for i, p := range problems {
					codes[i] = p.Code
				}
				slices.Sort(codes)
				t.Logf("%s: %v", name, slices.Compact(codes))
			}
		})
	}
}

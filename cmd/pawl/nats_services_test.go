package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/tools"
	"github.com/pawl-run/pawl/projections/readmodel"
)

func TestServices(t *testing.T) {
	long(t)
	t.Parallel()
	w := newToolWorld(t, impatient)
	w.await(w.engine, `example\.js waits for gmail\.search, sheets\.appendRow: start the tools`)
	w.await(w.engine, `^pawl: answering on http://127\.0\.0\.1:\d+$`) // before there is an end to the waiting
	w.tool(w.address(), "-mails", "3")
	d := w.awaitRest()
	w.wantRows(3)
	w.wantMutations(d, "applied", "applied", "applied")

	out := mustRun(t, w.dir, 0, "pawl", "connectors", "list")
	for _, line := range []string{`gmail\.search\s+list`, `sheets\.appendRow\s+mutate\s+Append a row\.`} {
		if !regexp.MustCompile("(?m)^" + line).MatchString(out) {
			t.Errorf("list lacks %s:\n%s", line, out)
		}
	}
	if strings.Contains(out, "rowStatus") || strings.Contains(out, "refused") {
		t.Errorf("list:\n%s", out)
	}

	// A check calls the tool, and says what it keeps.
	if out := mustRun(t, w.dir, 0, "pawl", "connectors", "check", "sheets"); !strings.Contains(out, "0 kept, 0 broken") {
		t.Errorf("check without parameters:\n%s", out)
	}
	out = mustRun(t, w.dir, 0, "pawl", "connectors", "check", "sheets", "--timeout", "10s", "--observe",
		"appendRow=countRows",
		"--params", `appendRow={"spreadsheetId": "x", "values": ["c;=", "d"]}`, "--yes")
	for _, rule := range []string{"deadline  sheets.appendRow", "idempotency  sheets.appendRow",
		"reconcile  sheets.appendRow"} {
		if !strings.Contains(out, "✓ kept  "+rule) {
			t.Errorf("check lacks %s:\n%s", rule, out)
		}
	}
	if !strings.Contains(out, ", 0 broken,") || len(w.book.rows()) != 4 {
		t.Errorf("check left %d rows:\n%s", len(w.book.rows()), out)
	}
	mustRun(t, w.dir, 1, "pawl", "connectors", "check", "telegraph")
	mustRun(t, w.dir, 2, "pawl", "connectors", "check", "sheets", "--params", `appendCell={}`)
	mustRun(t, w.dir, 4, "pawl", "connectors", "check", "sheets", "--data", "elsewhere")

	// What cannot be used is refused, and says why. A tool that was started a moment ago counts.
	w.tool(w.address(), "-serve", "odd")
	reason := `its pawl\.kind is "perhaps", want list, get, mutate or reconcile`
	if out := mustRun(t, w.dir, 0, "pawl", "connectors",
		"list"); !regexp.MustCompile(`(?m)^refused: oddities\.odd is not used: ` + reason).MatchString(out) {
		t.Errorf("list:\n%s", out)
	}
	if out := mustRun(t, w.dir, 0, "pawl", "connectors", "list",
		"--json"); !regexp.MustCompile(`"refused":\s*\[\s*\{\s*"service":\s*"oddities",\s*"endpoint":\s*"odd",` +
		`\s*"reason":\s*"its pawl\.kind is \\"perhaps\\"`).MatchString(out) {
		t.Errorf("list --json:\n%s", out)
	}
	if out := mustRun(t, w.dir, 1, "pawl", "connectors", "show",
		"oddities"); !regexp.MustCompile(reason).MatchString(out) {
		t.Errorf("show:\n%s", out)
	}
	if out := mustRun(t, w.dir, 1, "pawl", "connectors", "check",
		"oddities"); !regexp.MustCompile(`✗ broken  offer  oddities\.odd: .*` + reason).MatchString(out) {
		t.Errorf("check:\n%s", out)
	}
	// Each user has a URL that only this user can read; that of the commands ends with the engine.
	for _, name := range []string{"connector", "subscriber", "operator", "caller"} {
		info, err := os.Stat(filepath.Join(w.dir, ".pawl", "nats", name+".url"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s.url: %v, %v", name, info, err)
		}
	}
	d.stop()
	mustRun(t, w.dir, 4, "pawl", "connectors", "check", "sheets")
}

// A deploy looks for tools before it refuses, so that one started a moment ago is known.
func TestServicesDeploy(t *testing.T) {
	long(t)
	t.Parallel()
	dir := place(t, map[string]string{"idle.js": strings.ReplaceAll(smallScript, "NAME", "idle"),
		"example.js": read(t, "../../sandbox/testdata/example.js")})
	w := &toolWorld{t: t, dir: dir, book: book{filepath.Join(dir, "sheet")}}
	w.engine = w.spawn("pawl", "up", "idle.js", "--nats-listen", ":0")
	w.await(w.engine, `^pawl: answering`)
	out := mustRun(t, dir, 1, "pawl", "deploy", "example.js")
	if strings.Count(out, "[connector.unknown]") != 2 {
		t.Errorf("deploy without tools:\n%s", out)
	}
	w.tool(w.address(), "-serve", "search")
	if out := mustRun(t, dir, 1, "pawl", "validate", "example.js"); strings.Count(out, "[connector.unknown]") != 1 ||
		!strings.Contains(out, "sheets.appendRow") {
		t.Errorf("validate with one tool:\n%s", out)
	}
	w.tool(w.address(), "-serve", "appendRow,rowStatus")
	mustRun(t, dir, 0, "pawl", "deploy", "example.js", "--grant", "*=allow")
	w.await(w.engine, `✓ sheets\.appendRow`)
	w.wantRows(1)
}

// An engine that is to end by itself waits ten seconds for tools, and says so; what needs none runs.
func TestServicesUntilIdle(t *testing.T) {
	long(t)
	t.Parallel()
	dir := place(t, map[string]string{"idle.js": strings.ReplaceAll(smallScript, "NAME", "idle"),
		"example.js": read(t, "../../sandbox/testdata/example.js")})
	started := time.Now()
	out := mustRun(t, dir, 1, "pawl", "up", "example.js", "idle.js", "--nats-listen", ":0", "--until-idle")
	if waited := time.Since(started); waited < tools.WaitTimeout {
		t.Errorf("gave up after %s", waited)
	}
	for _, line := range []string{`deployed idle 1\.0`,
		`waits for gmail\.search, sheets\.appendRow, for at most 10s: start`, `\[connector\.unknown\]`,
		`1 workflow refused`} {
		if !regexp.MustCompile(line).MatchString(out) {
			t.Errorf("lacks %s:\n%s", line, out)
		}
	}
	if strings.Contains(out, "start again with --nats-listen") {
		t.Errorf("advises what is so already:\n%s", out)
	}
	mustRun(t, dir, 2, "pawl", "up", "idle.js", "--nats-listen", "somewhere")
}

// A tool is killed while it carries out a call. When it is back, it is asked what became of it.
func TestServicesToolDies(t *testing.T) {
	long(t)
	t.Parallel()
	for how, ledger := range map[string][]string{
		"die before": {"failed reconcile", "applied"},
		"die after":  {"applied reconcile"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newToolWorld(t, impatient)
			victim, _ := w.tool(w.address(), "-timeout", "2s", "-once", how)
			victim.done.Wait() // it is dead
			w.await(w.engine, `no certain answer; asking again`)
			w.tool(w.address(), "-timeout", "30s")
			d := w.awaitRest()
			w.wantRows(1)
			w.wantMutations(d, ledger...)
		})
	}
}

// A tool answers long after the timeout: the late answer settles the call (F12).
func TestServicesLateAnswer(t *testing.T) {
	long(t)
	t.Parallel()
	w := newToolWorld(t, strings.Replace(impatient, "reconcile: {base: 50ms, factor: 1, max: 50ms",
		"reconcile: {base: 1h, factor: 1, max: 1h", 1))
	tool, in := w.tool(w.address(), "-timeout", "2s", "-once", "late")
	w.await(tool, `^holding$`)
	w.await(w.engine, `no certain answer; asking again`)
	w.wantRows(0)
	if _, err := io.WriteString(in, "release\n"); err != nil {
		t.Fatal(err)
	}
	d := w.awaitRest()
	w.wantRows(1)
	w.wantMutations(d, "applied late_reply")
}

// What a tool answers makes no sense, twice: the call stays uncertain until it does.
func TestServicesGarbage(t *testing.T) {
	long(t)
	t.Parallel()
	w := newToolWorld(t, impatient)
	tool, _ := w.tool(w.address(), "-timeout", "1s", "-once", "garbage")
	d := w.awaitRest()
	w.await(tool, `^garbled status$`)
	w.wantRows(1)
	w.wantMutations(d, "applied reconcile")
}

// The line to a tool breaks while a request is on it. Meanwhile another instance says that the call
// failed for good, and the workflow makes a new one. When the line is back, the request arrives late
// or never: there is one row.
func TestServicesLineCut(t *testing.T) {
	long(t)
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(map[bool]string{false: "late", true: "lost"}[lost], func(t *testing.T) {
			t.Parallel()
			w := newToolWorld(t, impatient)
			line := newCutLine(t, w.address().Host, "HMSG pawl.tool.sheets.appendRow ")
			far := w.address()
			far.Host = line.listen.Addr().String()
			near, _ := w.tool(w.address(), "-serve", "search,rowStatus")
			remote, _ := w.tool(far, "-serve", "appendRow", "-timeout", "2s") // a busy machine answers within that
			select {
			case <-line.cut:
			case <-time.After(longest):
				t.Fatalf("no request was sent:\n%s", w.engine.text())
			}
			w.await(w.engine, `did not happen, as its connector says`)
			w.await(near, `^failed: `)
			if rows := w.book.rows(); len(rows) > 0 {
				t.Errorf("rows over a broken line: %+v", rows)
			}
			if line.restore(lost); !lost {
				w.await(remote, `^refused, (too late|given up): `)
			}
			w.await(remote, `^row 1: `)
			d := w.awaitRest()
			w.wantRows(1)
			var page readmodel.Page[readmodel.Mutation]
			d.get("/v1/mutations?order=asc&limit=1000", &page)
			for i, m := range page.Items {
				if want := map[bool]string{true: "applied", false: "failed"}[i == len(page.Items)-1]; string(m.Status) != want {
					t.Errorf("mutation %d of %d is %s", i+1, len(page.Items), m.Status)
				}
			}
			if len(page.Items) < 2 {
				t.Errorf("mutations: %+v", page.Items)
			}
			if status, body, err := d.request(http.MethodGet, "/v1/diagnostics", nil); err != nil || status != http.StatusOK ||
				!bytes.Contains(body, []byte(`"contradictions":[]`)) {
				t.Errorf("diagnostics: %s %v", body, err)
			}
		})
	}
}

// The tool that the README shows keeps what a connector must keep.
func TestExampleTool(t *testing.T) {
	long(t)
	t.Parallel()
	dir := place(t, map[string]string{"counting.ts": read(t, "example/tool/counting.ts")})
	w := &toolWorld{t: t, dir: dir}
	program := filepath.Join(dir, "tool")
	goBuild(t, program, "./example/tool", "CGO_ENABLED=0")
	w.engine = w.spawn("pawl", "up", "counting.ts", "--nats-listen", ":0")
	w.await(w.engine, `counting.ts waits for counter.add`)
	mustRun(t, dir, 0, "pawl", "connectors", "add", "counter")
	if out := mustRun(t, dir, 0, "pawl", "connectors", "list"); !strings.Contains(out,
		"no connector is there now: a tool has a user and is not connected") {
		t.Errorf("list:\n%s", out)
	}
	w.await(w.spawn(program, filepath.Join(dir, ".pawl", "nats", "tools", "counter.url")), `^counter serves$`)
	w.await(w.engine, `counting  ✓ One more, of .* \(counter\.add\)`)
	mustRun(t, dir, 0, "pawl", "pause", "counting")
	out := mustRun(t, dir, 0, "pawl", "types")
	for _, want := range []string{`readonly add: { mutate(params: { by: number }): Promise<{ total: number }> };`,
		`readonly read: { get(params?: object): Promise<{ total: number }> };`, `readonly appendRow: {`} {
		if !strings.Contains(out, want) {
			t.Errorf("types lack %s:\n%s", want, out)
		}
	}
	out = mustRun(t, dir, 0, "pawl", "connectors", "check", "counter", "--params", `add={"by": 2}`, "--params", "read={}",
		"--observe", "add=read", "--yes")
	if !strings.HasSuffix(out, "5 kept, 0 broken, 0 unchecked\n") {
		t.Errorf("check:\n%s", out)
	}
	if out := mustRun(t, dir, 0, "pawl", "connectors", "call", "counter.add", `{"by": 3}`,
		"--yes"); !regexp.MustCompile(`^\{"total":([6-9]|\d\d)\}\n$`).MatchString(out) {
		t.Errorf("call: %s", out)
	}
}

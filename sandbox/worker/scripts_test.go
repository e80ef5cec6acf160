package worker

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint/global"
	"github.com/pawl-run/pawl/sandbox/vm/globals/intl"
)

// pageTable are the rows of the tables on the authors' page that begin with a header, cell by cell.
func pageTable(t *testing.T, header string) [][]string {
	t.Helper()
	page, err := os.ReadFile("../SCRIPTS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n"+header+"\n|---")
	if !found {
		t.Fatalf("the page has no table %q", header)
	}
	var rows [][]string
	for _, line := range strings.Split(rest, "\n")[1:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "\x00", "|"))
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("the table %q has %d rows", header, len(rows))
	}
	return rows
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// code are the pieces of code in a cell.
func code(cell string) []string {
	var all []string
	for _, m := range codeSpan.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// TestPageListsWhatExists: every global and member of the page is there in a fresh runtime.
func TestPageListsWhatExists(t *testing.T) {
	t.Parallel()
	for _, row := range pageTable(t, "| global | members |") {
		global := code(row[0])[0]
		members, _, _ := strings.Cut(row[1], ":")
		// A member is asked for as scripts write it: what a runtime gets depends on the text.
		body := fmt.Sprintf("const missing = []; if (typeof %s === 'undefined') missing.push('itself');", global)
		for _, member := range code(members) {
			if name, ok := strings.CutPrefix(member, "."); ok {
				body += fmt.Sprintf("\nif (!(%q in %s.prototype)) missing.push(%q); if (false) a.%s();", name, global,
					member, name)
			} else if identifier.MatchString(member) {
				body += fmt.Sprintf("\nif (%s.%s === undefined) missing.push(%q);", global, member, member)
			}
		}
		t.Run(global, func(t *testing.T) {
			t.Parallel()
			if r := succeed(t, sandbox.Prepare, body+"\nreturn missing"); string(r.Value) != "[]" {
				t.Errorf("%s lacks %s", global, r.Value)
			}
		})
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z]+$`)

// TestPageIsTyped: the declarations name every global of the page that the language does not have itself.
func TestPageIsTyped(t *testing.T) {
	t.Parallel()
	language := []string{"Intl", "Iterator", "Object", "Map", "Set", "Promise", "Array", "String", "Number", "Date",
		"Error", "Uint8Array", "Symbol"}
	for _, row := range pageTable(t, "| global | members |") {
		global := code(row[0])[0]
		if slices.Contains(language, global) {
			continue
		}
		if !strings.Contains(sandbox.Typings, "declare var "+global+":") && !strings.Contains(sandbox.Typings,
			"declare function "+global) {
			t.Errorf("%s is not declared", global)
		}
		members, _, _ := strings.Cut(row[1], ":")
		for _, member := range code(members) {
			name := strings.TrimPrefix(member, ".")
			if identifier.MatchString(name) && !regexp.MustCompile(`\b`+name+`[(:]`).MatchString(sandbox.Typings) {
				t.Errorf("%s.%s is not declared", global, name)
			}
		}
	}
}

// TestPageListsWhatIsAbsent: what the page says does not exist does not, and asking for it says what
// to use; the page and the table of hints name the same.
func TestPageListsWhatIsAbsent(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, row := range pageTable(t, "| name | instead |") {
		listed = append(listed, code(row[0])...)
	}
	var hinted []string
	for name := range global.Absent {
		hinted = append(hinted, name)
	}
	slices.Sort(listed)
	slices.Sort(hinted)
	if !slices.Equal(listed, hinted) {
		t.Errorf("the page lists  %v\nhints exist for %v", listed, hinted)
	}
	for _, name := range listed {
		if name == "module" || name == "exports" {
			continue // the transformer takes a script that uses them for a CommonJS module and refuses it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := succeed(t, sandbox.Prepare, "return typeof "+name); string(r.Value) != `"undefined"` {
				t.Errorf("typeof %s is %s", name, r.Value)
			}
			_, err := runBody(t, sandbox.Prepare, "\nawait "+name+"(String('x'))")
			e := wantFault(t, err, sandbox.FaultScript, "script.threw")
			wantContains(t, e.Message, "ReferenceError", name+" does not exist in Pawl scripts",
				global.Absent[name])
			if e.Line != 2 {
				t.Errorf("line %d", e.Line)
			}
		})
	}
}

// TestPageLanguage: the syntax on the page runs, or is refused.
func TestPageLanguage(t *testing.T) {
	t.Parallel()
	for _, row := range pageTable(t, "| runs | |") {
		t.Run(row[0], func(t *testing.T) {
			t.Parallel()
			succeed(t, sandbox.Prepare, code(row[0])[0])
		})
	}
	for _, row := range pageTable(t, "| does not run | instead |") {
		t.Run(row[0], func(t *testing.T) {
			t.Parallel()
			call := invocationOf(sandbox.Prepare, code(row[0])[0])
			if strings.HasPrefix(code(row[0])[0], "import ") {
				call.Source.Code = code(row[0])[0] + "; fs;\n" + call.Source.Code
			}
			if _, err := newExecutor(t).Invoke(t.Context(), call, world); err == nil {
				t.Error("it runs")
			}
		})
	}
}

// TestPageLocales lists all.
func TestPageLocales(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, row := range pageTable(t, "| locale | | |") {
		for _, cell := range row {
			listed = append(listed, code(cell)...)
		}
	}
	if !slices.Equal(listed, intl.Supported()) {
		t.Errorf("listed %v, supported %v", listed, intl.Supported())
	}
}

// TestPagePhases: the table of the page is the table of the rules.
func TestPagePhases(t *testing.T) {
	t.Parallel()
	members := map[string]sandbox.Member{"`console`": sandbox.MemberConsole,
		"connector: list, search": sandbox.MemberList, "connector: get by id": sandbox.MemberGet,
		"connector: change": sandbox.MemberMutate}
	for name, m := range sandbox.Builtins {
		members["`"+name+"`"] = m
	}
	rows := pageTable(t, "| | producer | prepare | mutate | next |")
	if len(rows) != len(members) {
		t.Errorf("%d rows for %d members", len(rows), len(members))
	}
	for _, row := range rows {
		m, ok := members[row[0]]
		if !ok {
			t.Errorf("%s is no member", row[0])
			continue
		}
		for i, phase := range []sandbox.Phase{sandbox.Producer, sandbox.Prepare, sandbox.Mutate, sandbox.Next} {
			if says := row[i+1]; sandbox.MemberAllowed(phase, m, true) != (says != "no") || sandbox.MemberAllowed(phase,
				m, false) != (says != "no" && !strings.HasPrefix(says, "with")) {
				t.Errorf("%s in %s: the page says %q", row[0], phase, says)
			}
		}
	}
}

// TestPageLimits: the numbers of the page are the defaults.
func TestPageLimits(t *testing.T) {
	t.Parallel()
	size := func(n int) string {
		if n >= 1<<20 {
			return fmt.Sprintf("%d MiB", n>>20)
		}
		return fmt.Sprintf("%d KiB", n>>10)
	}
	brief := func(d time.Duration) string {
		return strings.TrimSuffix(d.String(), "m0s") + map[bool]string{true: "m"}[d >= time.Minute]
	}
	d := sandbox.DefaultLimits
	want := map[string]string{
		"cpu": brief(d.CPU), "wall": brief(d.Wall), "reads": brief(d.Reads), "source": size(d.Source),
		"argument": size(d.Argument), "result": size(d.Result),
		"state": size(d.State), "publish": size(d.Publish), "hostCalls": fmt.Sprint(d.HostCalls), "log": size(d.Log),
		"inFlight": fmt.Sprint(d.InFlight), "stack": fmt.Sprint(d.Stack),
	}
	rows := pageTable(t, "| limit | by default | what counts |")
	if len(rows) != len(want) {
		t.Errorf("%d rows for %d limits", len(rows), len(want))
	}
	for _, row := range rows {
		if got := row[1]; got != want[code(row[0])[0]] {
			t.Errorf("%s: the page says %q, the default is %q", row[0], got, want[code(row[0])[0]])
		}
	}
}

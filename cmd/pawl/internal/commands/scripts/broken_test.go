package scripts

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pawl-run/pawl/cmd/pawl/internal/builtin"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/node"
	"github.com/pawl-run/pawl/cmd/pawl/internal/source"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/ops/explain"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/vm"
)

// brokenScript is a script of the corpus: what is wrong, what is to be said of it at which line, and a part of what it
// becomes when the fixes are made.
type brokenScript struct {
	name, script string
	code         string
	line         int
	fixed        string
}

// brokenScripts reads an archive: base.ts is a script without any problem, and each case says which of its parts is
// replaced by what. The lines of a part begin with "<", those in its place with ">".
func brokenScripts(t *testing.T, path string) (base string, list []brokenScript) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil || len(archive.Files) != 2 {
		t.Fatalf("read %s: %v", path, err)
	}
	base = string(archive.Files[0].Data)
	for text := range strings.SplitSeq(strings.TrimSpace(string(archive.Files[1].Data)), "\n\n") {
		list = append(list, brokenScriptOf(t, base, text))
	}
	return base, list
}

func brokenScriptOf(t *testing.T, base, text string) brokenScript {
	t.Helper()
	lines := strings.Split(text, "\n")
	s := brokenScript{name: lines[0], script: base}
	var part, instead []string
	replace := func() {
		if part == nil {
			return
		}
		old := strings.Join(part, "\n")
		if strings.Count(s.script, old) != 1 {
			t.Fatalf("%s: %q is in the script %d times", s.name, old, strings.Count(s.script, old))
		}
		s.script = strings.Replace(s.script, old, strings.Join(instead, "\n"), 1)
		part, instead = nil, nil
	}
	for _, line := range lines[1:] {
		line = strings.TrimPrefix(line, "  ")
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "says":
			code, at, _ := strings.Cut(rest, " ")
			s.code = code
			if n, err := strconv.Atoi(at); err == nil {
				s.line = n
			} else {
				t.Fatalf("%s: line %q", s.name, at)
			}
		case "fixed":
			s.fixed = rest
		case "<":
			if instead != nil {
				replace()
			}
			part = append(part, rest)
		case ">":
			instead = append(instead, rest)
		default:
			t.Fatalf("%s: line %q", s.name, line)
		}
	}
	replace()
	return s
}

// judging checks scripts as `pawl validate` does without an engine.
func judging(t *testing.T) func(source.Script) (verdict, error) {
	t.Helper()
	registry, done, err := builtin.Alone(config.Connectors{})
	if err != nil {
		t.Fatal(err)
	}
	executor := vm.NewExecutor(vm.Config{})
	t.Cleanup(func() {
		if err := errors.Join(done(), executor.Close()); err != nil {
			t.Error(err)
		}
	})
	return func(s source.Script) (verdict, error) {
		definition, problems, err := executor.Describe(t.Context(), sandbox.Source{Filename: "broken.ts",
			Code: string(s.Text)})
		if err != nil {
			return verdict{}, err
		}
		_, checked := deploy.Check(deploy.Input{Definition: definition, Source: string(s.Text), Found: problems,
			Catalog: node.NewCatalog(registry), UnknownConnector: sandbox.SeverityWarning})
		return verdict{OK: !deploy.Refused(checked), Problems: explain.Problems(checked)}, nil
	}
}

func (s brokenScript) in(problems []sandbox.Problem) (sandbox.Problem, bool) {
	i := slices.IndexFunc(problems, func(p sandbox.Problem) bool { return p.Code == s.code && p.Line == s.line })
	if i < 0 {
		return sandbox.Problem{}, false
	}
	return problems[i], true
}

// TestBrokenScripts: of each script of the corpus it is said what is wrong, at its line. A fix that is code is made
// literally, and then nothing is wrong any more; each other one says why it has to be made by hand.
func TestBrokenScripts(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/broken/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	judge := judging(t)
	total, caught, fixable, right := 0, 0, 0, 0
	for _, path := range archives {
		base, list := brokenScripts(t, path)
		if v, err := judge(source.Script{Text: []byte(base)}); err != nil || len(v.Problems) > 0 {
			t.Fatalf("%s: the base has problems: %v %+v", path, err, v.Problems)
		}
		for _, s := range list {
			total++
			script := source.Script{Path: s.name, Text: []byte(s.script)}
			found, err := judge(script)
			if err != nil {
				t.Fatal(err)
			}
			problem, said := s.in(found.Problems)
			if !said {
				t.Errorf("%s: %s is not said at line %d: %s", s.name, s.code, s.line, told(found.Problems))
				continue
			}
			caught++
			if (problem.Edit == (sandbox.Edit{})) == (problem.ByHand == "") {
				t.Errorf("%s: a fix is an edit or says why it is none: %+v", s.name, problem)
			}
			mended, after, made, err := mend(script, found, judge)
			if err != nil {
				t.Fatal(err)
			}
			if problem.Edit == (sandbox.Edit{}) {
				if s.fixed != "" {
					t.Errorf("%s: it has no edit: %s", s.name, told([]sandbox.Problem{problem}))
				}
				continue
			}
			fixable++
			if made == 0 || len(after.Problems) > 0 || s.fixed == "" || !strings.Contains(string(mended.Text), s.fixed) {
				t.Errorf("%s: after %d changes: %s\n%s\nwant %q in it", s.name, made, told(after.Problems),
					changed(s.script, string(mended.Text)), s.fixed)
				continue
			}
			right++
		}
	}
	t.Logf("%d broken scripts, %d caught; %d fixes are code, %d of them right when they are made literally",
		total, caught, fixable, right)
}

func told(problems []sandbox.Problem) string {
	var text strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&text, "\n  %d:%d %s %s: %s; fix: %s", p.Line, p.Column, p.Severity, p.Code, p.Message, p.Fix)
	}
	return text.String()
}

// changed shows the lines that differ.
func changed(before, after string) string {
	old, text := strings.Split(before, "\n"), strings.Builder{}
	for _, line := range strings.Split(after, "\n") {
		if !slices.Contains(old, line) {
			text.WriteString("  + " + line + "\n")
		}
	}
	return text.String()
}

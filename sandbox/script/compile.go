package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/pawl-run/pawl/sandbox"
)

// Compile transforms and compiles a source. What its text shows is for static analysis; it must not
// outlive that. A panic inside the transformer or compiler is reported as the script's problem:
// only its text can have caused it.
func Compile(source sandbox.Source, limit int) (s *Compiled, in *Text, problems []sandbox.Problem) {
	if e := sandbox.SourceTooLarge(source, limit); e != nil {
		return nil, nil, []sandbox.Problem{sandbox.ProblemOf(e)}
	}
	defer func() {
		if x := recover(); x != nil {
			s, in = nil, nil
			problems = []sandbox.Problem{sandbox.NewProblem("script.crashed", sandbox.Place{},
				fmt.Sprintf("the compiler could not digest the script: %.200v", x),
				"simplify the script: very deep nesting or huge constant expressions cause this")}
		}
	}()

	name := displayName(source.Filename)
	code, sourceMap, problems := transform(name, source.Code)
	if sandbox.HasErrors(problems) {
		return nil, nil, problems
	}
	if strings.Contains(code, "__commonJS(") {
		if p, ok := commonJS(source.Code); ok {
			return nil, nil, append(problems, p)
		}
	}
	code, requireName := dropRequireShim(code)
	tree, err := goja.Parse(wrapperName, wrapperPrefix+returnDefault(code)+wrapperSuffix,
		parser.WithSourceMapLoader(func(string) ([]byte, error) { return sourceMap, nil }))
	if err != nil {
		return nil, nil, append(problems, syntaxProblem(err))
	}
	restoreRequire(tree, requireName)
	if repairable.MatchString(code) {
		repairExpressions(tree)
	}
	in = Inspect(tree)
	in.yieldGlobal(tree)
	in.Code, in.Author = code, source.Code
	if problems = append(problems, in.requires()...); sandbox.HasErrors(problems) {
		return nil, nil, problems
	}
	s = &Compiled{File: name, text: tree.File, handlers: in.handlerTexts()}
	var undo []func()
	marked, unmark := markThrows(tree)
	s.MarksThrows, undo = marked, append(undo, unmark)
	if source.Counted {
		places, uncount := markCounts(tree, in)
		s.Counts, undo = places, append(undo, uncount)
	}
	s.Program, err = goja.CompileAST(tree, true)
	for _, again := range slices.Backward(undo) {
		again()
	}
	if err != nil {
		return nil, nil, append(problems, syntaxProblem(err))
	}
	return s, in, problems
}

// yieldGlobal leaves the name Pawl to a script that declares it itself, as one may that was written when the
// global had its old name only: its variable would begin as the wrapper's parameter of that name.
func (in *Text) yieldGlobal(tree *ast.Program) {
	if _, declared := in.top.Variables[Global]; !declared || len(tree.Body) != 1 {
		return
	}
	if statement, ok := tree.Body[0].(*ast.ExpressionStatement); ok {
		if wrapper, ok := statement.Expression.(*ast.FunctionLiteral); ok {
			for _, parameter := range wrapper.ParameterList.List {
				if id, ok := parameter.Target.(*ast.Identifier); ok && id.Name == Global {
					id.Name = "<" + Global + ">" // no script can write this name
				}
			}
		}
	}
}

// repairable finds what repairExpressions may change in a text, and more.
var repairable = regexp.MustCompile(`/[a-z]*m|\\[pP]\{`)

// repairExpressions makes regular expressions work that the interpreter's linear engine gets wrong: it takes \p{…} for
// the letters p{…}, and with the flag m it ends a line at \n alone, so that $ does not match before \r\n. An empty
// look-ahead, which only its other engine knows, sends the expression there. Those made at run time are repaired by the
// runtime in the same way.
func repairExpressions(tree *ast.Program) {
	for _, statement := range tree.Body {
		Walk(statement, func(n ast.Node) bool {
			literal, ok := n.(*ast.RegExpLiteral)
			if !ok {
				return true
			}
			property := strings.Contains(literal.Flags, "u") && (strings.Contains(literal.Pattern, `\p{`) ||
				strings.Contains(literal.Pattern, `\P{`))
			line := strings.Contains(literal.Flags, "m") && strings.ContainsAny(literal.Pattern, "^$")
			if property || line {
				literal.Pattern = "(?=)" + literal.Pattern
			}
			return true
		})
	}
}

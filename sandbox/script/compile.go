package script

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/evanw/esbuild/pkg/api"

	"github.com/pawl-run/pawl/sandbox"
)

// Compiled is a compiled source; it holds no runtime and may be run by many goroutines at once.
type Compiled struct {
	Program *goja.Program
	// File is the author's File name as positions give it.
	File string
	// MarksThrows tells that throws of the program call throwMark.
	MarksThrows bool
	// handlers are where the handlers are written, and text what their places are of.
	handlers map[sandbox.HandlerKey]handlerText
	text     *file.File
}

// wrapperName is the name goja knows the generated code by. A position that the source map cannot
// translate keeps this name, so generated lines are never taken for the author's.
const wrapperName = "<generated>"

// The global with which scripts declare workflows, and the name that it had before, which means the same.
const (
	Global    = "Pawl"
	OldGlobal = "Keep"
)

// The wrapper is a function of both names that returns the default export. The prefix stands on the first
// line of the generated code, so no line moves.
const (
	wrapperPrefix = "(function(" + OldGlobal + "," + Global + "){"
	wrapperSuffix = "\n})\n//# sourceMappingURL=source.map\n"
)

// unsupported are features that goja lacks and the transformer can rewrite, or must report.
var unsupported = map[string]bool{
	"async-generator": false, "for-await": false, "using": false, "decorators": false,
	"top-level-await": false, "dynamic-import": false, "import-meta": false,
}

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
	if strings.Contains(code, `\p{`) || strings.Contains(code, `\P{`) {
		repairPropertyEscapes(tree)
	}
	in = Inspect(tree)
	in.yieldGlobal(tree)
	in.Code = code
	if problems = append(problems, in.requires()...); sandbox.HasErrors(problems) {
		return nil, nil, problems
	}
	s = &Compiled{File: name, text: tree.File, handlers: in.handlerTexts()}
	marked, undo := markThrows(tree)
	s.MarksThrows = marked
	s.Program, err = goja.CompileAST(tree, true)
	undo()
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

// transform lowers TypeScript and new syntax to what goja runs, and refuses every import.
func transform(name, code string) (out string, sourceMap []byte, problems []sandbox.Problem) {
	loader := api.LoaderTS
	switch path.Ext(name) {
	case ".js", ".mjs", ".cjs":
		loader = api.LoaderJS
	}
	result := api.Build(api.BuildOptions{
		Stdin:  &api.StdinOptions{Contents: code, Sourcefile: name, Loader: loader, ResolveDir: "/"},
		Bundle: true, Write: false, Outfile: "/script.js", AbsWorkingDir: "/", TsconfigRaw: "{}",
		Format: api.FormatESModule, Platform: api.PlatformNeutral, Target: api.ES2022, Charset: api.CharsetUTF8,
		LogLevel: api.LogLevelSilent, LogLimit: 20,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
		LegalComments: api.LegalCommentsNone,
		Supported:     unsupported,
		Plugins:       []api.Plugin{refuseImports},
	})
	for _, m := range result.Errors {
		problems = append(problems, messageProblem(m, sandbox.SeverityError))
	}
	for _, m := range result.Warnings {
		problems = append(problems, messageProblem(m, sandbox.SeverityWarning))
	}
	for _, f := range result.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			sourceMap = f.Contents
		} else {
			out = string(f.Contents)
		}
	}
	if sourceMap == nil {
		return out, nil, problems
	}
	sourceMap, mapErr := shiftColumns(sourceMap, out)
	if mapErr != nil {
		problems = append(problems, sandbox.NewProblem("script.crashed", sandbox.Place{}, mapErr.Error(),
			"report this: it is no fault of the script"))
	}
	return out, sourceMap, problems
}

// exportClause is the last statement of a transformed module with exports.
var exportClause = regexp.MustCompile(`^\nexport \{\n((?:  [^\s,;]+(?: as [^\s,;]+)?,?\n)*)\};\n*$`)

// defaultExport is its line for the default export.
var defaultExport = regexp.MustCompile(`(?m)^  ([^\s,;]+) as default,?$`)

// returnDefault turns the export clause into the return of the default export. The transformer's
// own module formats would build an exports object with a dozen helper calls in every handler call.
func returnDefault(code string) string {
	i := strings.LastIndex(code, "\nexport {\n")
	if i < 0 {
		return code
	}
	clause := exportClause.FindStringSubmatch(code[i:])
	if clause == nil {
		return code
	}
	if name := defaultExport.FindStringSubmatch(clause[1]); name != nil {
		return code[:i] + "\nreturn " + name[1] + ";\n"
	}
	return code[:i] + "\n"
}

const (
	importRefused = "scripts cannot import"
	importFix     = "remove this: Pawl and ctx are given without an import. One file is one workflow, so code " +
		"belongs into " +
		"this file, and the outside is reached through ctx.<connector>.<operation>({ … }); only `import " +
		"type` is allowed"
)

// refuseImports makes import and re-export fail at compile time with their line. Imports of types vanish before it is
// asked. A call of require stays as it is written: a bundled library may only try it, see requires.
var refuseImports = api.Plugin{
	Name: "pawl",
	Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			switch args.Kind {
			case api.ResolveEntryPoint:
				return api.OnResolveResult{}, nil
			case api.ResolveJSRequireCall:
				return api.OnResolveResult{Path: args.Path, External: true}, nil
			}
			return api.OnResolveResult{Errors: []api.Message{{Text: fmt.Sprintf("%s: %q is not available",
				importRefused, args.Path)}}}, nil
		})
	},
}

func messageProblem(m api.Message, severity string) sandbox.Problem {
	p := sandbox.Problem{Severity: severity, Code: "script.syntax", Message: m.Text}
	if m.Location != nil {
		column := min(max(m.Location.Column, 0), len(m.Location.LineText)) // in bytes
		p.Line, p.Column = m.Location.Line, utf16Length(m.Location.LineText[:column])+1
		if text := strings.TrimSpace(m.Location.LineText); text != "" && severity == sandbox.SeverityError {
			p.Message += fmt.Sprintf(" in %q", sandbox.Clip(text, 120))
		}
	}
	switch {
	case strings.HasPrefix(m.Text, importRefused):
		p.Code = "script.import"
		p.Fix = importFix
	case severity == sandbox.SeverityWarning:
		p.Code = "script.suspicious"
		p.Fix = "check this place; the script can run as it is"
	default:
		p.Fix = syntaxFix(m)
	}
	return p
}

// syntaxFix says how to correct what the transformer refuses, in its own words where it has any.
func syntaxFix(m api.Message) string {
	for _, known := range []struct{ text, fix string }{
		{`"await" can only be used inside an "async" function`,
			"write async before the function around it; code outside of handlers cannot wait"},
		{"Top-level await", "await only inside of async handlers; code outside of them cannot wait"},
		{"has already been declared", "rename one of the two"},
		{"Cannot assign to", "declare it with let, or use another name"},
		{"Unterminated string", "close the quotes; a text over several lines stands in `backticks`"},
		{"Unterminated template", "close the backtick"},
		{"Unexpected end of file", "a bracket is not closed: check the ones that are open at the end"},
	} {
		if strings.Contains(m.Text, known.text) {
			return known.fix
		}
	}
	fix := "correct the syntax at this place"
	for _, note := range m.Notes {
		if note.Text != "" {
			fix += ": " + sandbox.Clip(note.Text, 200)
			if note.Location != nil {
				fix += fmt.Sprintf(" (line %d, column %d)", note.Location.Line, note.Location.Column+1)
			}
			break
		}
	}
	return fix
}

var commonJSExport = regexp.MustCompile(`\bmodule\.exports\b|\bexports\.\w+|\bmodule\b`)

// commonJS finds where a script that the transformer took for a CommonJS module says so.
func commonJS(code string) (sandbox.Problem, bool) {
	at := commonJSExport.FindStringIndex(code)
	if at == nil {
		return sandbox.Problem{}, false
	}
	before := code[:at[0]]
	line := strings.LastIndexByte(before, '\n') + 1
	return sandbox.NewProblem("shape.default", sandbox.Place{Line: 1 + strings.Count(before, "\n"),
		Column: 1 + utf16Length(before[line:])},
		"scripts do not export through "+code[at[0]:at[1]], "write "+WorkflowShape), true
}

// syntaxProblem reports what the transformer let through and goja refuses.
func syntaxProblem(err error) sandbox.Problem {
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return sandbox.NewProblem("script.syntax", authorPlace(list[0].Position), list[0].Message,
			"use an older form: this syntax is not supported here")
	}
	var syntax *goja.CompilerSyntaxError
	if errors.As(err, &syntax) {
		at := sandbox.Place{}
		if syntax.File != nil {
			at = authorPlace(syntax.File.Position(syntax.Offset))
		}
		return sandbox.NewProblem("script.syntax", at, syntax.Message, "correct the syntax at this place")
	}
	return sandbox.NewProblem("script.syntax", sandbox.Place{}, sandbox.Clip(err.Error(), 500), "correct the syntax")
}

// repairPropertyEscapes makes \p{…} in literals work: the interpreter's linear engine for regular
// expressions takes it for the letters p{…}. An empty look-ahead, which only its other engine knows,
// sends the expression there. Those made at run time are repaired by the runtime in the same way.
func repairPropertyEscapes(tree *ast.Program) {
	for _, statement := range tree.Body {
		Walk(statement, func(n ast.Node) bool {
			if literal, ok := n.(*ast.RegExpLiteral); ok && strings.Contains(literal.Flags, "u") &&
				(strings.Contains(literal.Pattern, `\p{`) || strings.Contains(literal.Pattern, `\P{`)) {
				literal.Pattern = "(?=)" + literal.Pattern
			}
			return true
		})
	}
}

// PlaceOf is where in the author's source a frame of the interpreter's stack is, zero for one that is
// native or of code made at run time.
func PlaceOf(frame *goja.StackFrame) sandbox.Place {
	if frame.SrcName() != wrapperName {
		return sandbox.Place{}
	}
	return authorPlace(frame.Position())
}

// authorPlace keeps only positions that the source map could translate.
func authorPlace(p file.Position) sandbox.Place {
	if p.Filename == wrapperName || p.Line <= 0 {
		return sandbox.Place{}
	}
	return sandbox.Place{Line: p.Line, Column: p.Column}
}

// displayName is the file name that positions and stacks show: no folders of the author's machine,
// and nothing that reads as a URL or a second stack frame.
func displayName(filename string) string {
	base := path.Base(filepath.ToSlash(filename))
	if base == "." || base == "/" {
		return "workflow.ts"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, base)
}

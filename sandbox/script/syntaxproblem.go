package script

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
	"github.com/evanw/esbuild/pkg/api"

	"github.com/pawl-run/pawl/sandbox"
)

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

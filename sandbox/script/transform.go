package script

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/pawl-run/pawl/sandbox"
)

// unsupported are features that goja lacks and the transformer can rewrite, or must report.
var unsupported = map[string]bool{
	"async-generator": false, "for-await": false, "using": false, "decorators": false,
	"top-level-await": false, "dynamic-import": false, "import-meta": false,
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

package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// otherPlatforms are those that Pawl is released for, besides the one that the check runs on.
var otherPlatforms = []string{"linux", "darwin", "windows"}

// platforms are a step for each operating system besides this one: the packages and their tests are type-checked as
// they are there. Since Pawl has neither C nor assembly of its own, this finds everything that the compiler would
// refuse, in a tenth of the compiler's time: no code is generated, and of the functions of other modules only the
// signatures are read.
func platforms(ctx context.Context, root, module string, patterns []string) (steps []step) {
	for _, platform := range otherPlatforms {
		if platform != runtime.GOOS {
			steps = append(steps, step{platform, func() []string { return typeErrors(ctx, root, module, platform, patterns) }})
		}
	}
	return steps
}

// typeErrors are the type errors of the packages and their tests on a platform.
func typeErrors(ctx context.Context, root, module, platform string, patterns []string) []string {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: root, Tests: true, Env: append(os.Environ(), "GOOS="+platform, "CGO_ENABLED=0"),
		Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes,
		ParseFile: func(files *token.FileSet, name string, text []byte) (*ast.File, error) {
			file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, root+string(os.PathSeparator)) {
				for _, declared := range file.Decls {
					if function, ok := declared.(*ast.FuncDecl); ok && function.Name.Name != "init" {
						function.Body = nil
					}
				}
			}
			return file, err
		},
	}, patterns...)
	if err != nil {
		return []string{fmt.Sprintf("load the packages for %s: %v", platform, err)}
	}
	var found []string
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if strings.HasSuffix(p.PkgPath, ".test") {
			return // this is the main function of a test, which the go command writes
		}
		ours := p.PkgPath == module || strings.HasPrefix(p.PkgPath, module+"/")
		for _, e := range p.Errors {
			if ours || e.Kind == packages.ListError {
				found = append(found, e.Error())
			}
		}
	})
	slices.Sort(found)
	return slices.Compact(found) // a package is loaded once more with its tests
}

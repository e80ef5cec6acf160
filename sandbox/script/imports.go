package script

import (
	"fmt"

	"github.com/evanw/esbuild/pkg/api"
)

const (
	importRefused = "scripts cannot import"
	importFix     = "remove this: Pawl and ctx are given without an import. One file is one workflow, so code belongs " +
		"into this file, and the outside is reached through ctx.<connector>.<operation>({ … }); " +
		"only `import type` is allowed"
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

package flow

import "github.com/dop251/goja/ast"

// Site is a call through which a value has come out of the function that is called. The nil site is of a value that has
// come out of none.
type Site struct {
	Call *ast.CallExpression
	// Inner is the site that the value came through before, nil for the first.
	Inner *Site
	depth int
}

// maxDepth bounds how many sites one value is told apart by. A value that comes out of more functions keeps the last
// site.
const maxDepth = 5

// through is the site of a value that comes out through one more call.
func (s *Site) through(call *ast.CallExpression) *Site {
	if s == nil {
		return &Site{Call: call, depth: 1}
	}
	if s.depth == maxDepth {
		return s
	}
	return &Site{call, s, s.depth + 1}
}

// Calls are the calls of a site, the innermost first.
func (s *Site) Calls() (calls []*ast.CallExpression) {
	if s == nil {
		return nil
	}
	return append(s.Inner.Calls(), s.Call)
}

// MayBe reports whether a value of one site may be a value of the other one: it is the same, or one of them has come
// further.
func (s *Site) MayBe(other *Site) bool { return s.within(other) || other.within(s) }

// within reports whether a value of the other site has come through this one.
func (s *Site) within(other *Site) bool {
	for ; other != nil; other = other.Inner {
		if other == s {
			return true
		}
	}
	return s == nil
}

package script

import "github.com/dop251/goja/ast"

// Exhausted is what a look at a Text throws that has been looked at more often than is allowed.
type Exhausted struct{}

// looks bounds how often a text is looked at. A check that follows values may take time that grows faster than the
// text, and nothing else could end it.
type looks struct {
	bounded bool
	left    int
}

// Allow bounds how often the text may be looked at from now on: with one look more, Exhausted is thrown. Zero takes the
// bound away.
func (l *looks) Allow(most int) { l.bounded, l.left = most > 0, most }

func (l *looks) look() {
	if l.left--; l.bounded && l.left < 0 {
		panic(Exhausted{})
	}
}

// Walk visits a node and all below it as the function Walk does; each visit is a look.
func (l *looks) Walk(n ast.Node, visit func(ast.Node) bool) {
	Walk(n, func(n ast.Node) bool {
		l.look()
		return visit(n)
	})
}

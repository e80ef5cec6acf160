package script

import (
	"reflect"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// Start is where a node begins. The interpreter's parser leaves out the place of some statements; that
// of an if is found before its condition, any other is that of the first part that has one.
func (in *Text) Start(n ast.Node) file.Idx {
	if n == nil || reflect.ValueOf(n).Kind() == reflect.Pointer && reflect.ValueOf(n).IsNil() {
		return 0
	}
	switch n := n.(type) {
	case *ast.ExpressionStatement:
		return in.Start(n.Expression)
	case *ast.TemplateLiteral:
		if n.Tag != nil {
			return in.Start(n.Tag) // the parser gives the place of the quote
		}
	}
	if at := n.Idx0(); at > 0 {
		return at
	}
	if branch, ok := n.(*ast.IfStatement); ok {
		return in.keywordBefore("if", in.Start(branch.Test))
	}
	var at file.Idx
	Walk(n, func(part ast.Node) bool {
		if at <= 0 && part != n {
			at = in.Start(part)
		}
		return at <= 0
	})
	return at
}

// keywordBefore is the place of a keyword that only brackets and white space part from a place; the
// place itself where there is none.
func (in *Text) keywordBefore(keyword string, at file.Idx) file.Idx {
	offset := int(at) - in.file.Base()
	source := in.file.Source()
	if offset < 0 || offset > len(source) {
		return at
	}
	before := strings.TrimRight(source[:offset], "( \t\r\n")
	if !strings.HasSuffix(before, keyword) {
		return at
	}
	return file.Idx(in.file.Base() + len(before) - len(keyword))
}

package script

import (
	"reflect"

	"github.com/dop251/goja/ast"
)

var nodeType = reflect.TypeFor[ast.Node]()

// Walk visits a node and all below it, in the order of the text; visit says whether to go below. The
// interpreter's tree has no visitor of its own.
func Walk(n ast.Node, visit func(ast.Node) bool) {
	walkWithin(n, nil, func(n, _ ast.Node) bool { return visit(n) })
}

// walkWithin is walk for visitors that want to know what a node is a part of; parent is that of n.
func walkWithin(n, parent ast.Node, visit func(n, parent ast.Node) bool) {
	if n == nil || reflect.ValueOf(n).Kind() == reflect.Pointer && reflect.ValueOf(n).IsNil() {
		return
	}
	if !visit(n, parent) {
		return
	}
	v := reflect.ValueOf(n)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	walkFields(v, n, visit)
}

func walkFields(v reflect.Value, parent ast.Node, visit func(n, parent ast.Node) bool) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		// DeclarationList repeats the variables that the body declares.
		if field := v.Type().Field(i); field.IsExported() && field.Name != "DeclarationList" {
			walkValue(v.Field(i), parent, visit)
		}
	}
}

func walkValue(v reflect.Value, parent ast.Node, visit func(n, parent ast.Node) bool) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			walkValue(v.Index(i), parent, visit)
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.Type().Implements(nodeType) {
			if n, ok := v.Interface().(ast.Node); ok {
				walkWithin(n, parent, visit)
			}
		} else if v.Kind() == reflect.Pointer && v.Type().Elem().PkgPath() == reflect.TypeFor[ast.Program]().PkgPath() {
			walkFields(v.Elem(), parent, visit) // a part of a node that is no node itself
		}
	case reflect.Struct:
		if v.CanAddr() && v.Addr().Type().Implements(nodeType) {
			if n, ok := v.Addr().Interface().(ast.Node); ok {
				walkWithin(n, parent, visit)
			}
		} else {
			walkFields(v, parent, visit)
		}
	}
}

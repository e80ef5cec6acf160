package script

import (
	"reflect"
	"sync"

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
	if n == nil {
		return
	}
	v := reflect.ValueOf(n)
	if v.Kind() == reflect.Pointer && v.IsNil() || !visit(n, parent) {
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	for _, p := range partsOf(v.Type()) {
		p.walk(v.Field(p.field), n, visit)
	}
}

// part says how a field, or an element of a slice, leads to nodes.
type part struct {
	kind  kind
	field int   // of the struct that the part is a field of
	each  *part // what an element of a slice is
}

type kind int

const (
	leaf   kind = iota // no nodes
	isNode             // a node or nil
	atNode             // a struct whose address is a node
	isSlice
)

// parts caches the fields of each struct type that lead to nodes. To find them takes longer than to visit them.
var parts sync.Map // of reflect.Type → []part

func partsOf(t reflect.Type) []part {
	if known, ok := parts.Load(t); ok {
		return known.([]part)
	}
	var found []part
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			// DeclarationList repeats the variables that the body declares.
			field := t.Field(i)
			if p := partOf(field.Type); field.IsExported() && field.Name != "DeclarationList" && p.kind != leaf {
				p.field = i
				found = append(found, p)
			}
		}
	}
	parts.Store(t, found)
	return found
}

func partOf(t reflect.Type) part {
	switch t.Kind() {
	case reflect.Slice:
		if each := partOf(t.Elem()); each.kind != leaf {
			return part{kind: isSlice, each: &each}
		}
	case reflect.Interface, reflect.Pointer:
		if t.Implements(nodeType) {
			return part{kind: isNode}
		}
	case reflect.Struct: // all structs of the tree are nodes
		if reflect.PointerTo(t).Implements(nodeType) {
			return part{kind: atNode}
		}
	}
	return part{}
}

func (p part) walk(v reflect.Value, parent ast.Node, visit func(n, parent ast.Node) bool) {
	switch p.kind {
	case isSlice:
		for i := range v.Len() {
			p.each.walk(v.Index(i), parent, visit)
		}
	case isNode:
		if !v.IsNil() {
			walkWithin(v.Interface().(ast.Node), parent, visit)
		}
	case atNode:
		walkWithin(v.Addr().Interface().(ast.Node), parent, visit)
	}
}

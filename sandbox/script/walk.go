package script

import (
	"reflect"
	"sync"

	"github.com/dop251/goja/ast"
)

var (
	nodeType = reflect.TypeFor[ast.Node]()
	treePath = reflect.TypeFor[ast.Program]().PkgPath()
)

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
	walkParts(v, n, visit)
}

// part is a value of the tree below which nodes may be.
type part struct {
	how   how
	field int   // of the struct that the part is a field of
	each  *part // what an element of a slice is
}

// how a part leads to nodes.
type how int

const (
	leaf    how = iota // not at all
	isNode             // it is one, or nil
	atNode             // its address is one
	isParts            // a struct whose fields lead to nodes
	atParts            // its address, or nil
	isSlice
)

// parts are those of each struct type of the tree. To find them out takes longer than to walk them.
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
			if p := partOf(field.Type); field.IsExported() && field.Name != "DeclarationList" && p.how != leaf {
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
		if each := partOf(t.Elem()); each.how != leaf {
			return part{how: isSlice, each: &each}
		}
	case reflect.Interface:
		if t.Implements(nodeType) {
			return part{how: isNode}
		}
	case reflect.Pointer:
		if t.Implements(nodeType) {
			return part{how: isNode}
		}
		if t.Elem().PkgPath() == treePath {
			return part{how: atParts} // a part of a node that is no node itself
		}
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(nodeType) {
			return part{how: atNode}
		}
		return part{how: isParts}
	}
	return part{}
}

func walkParts(v reflect.Value, parent ast.Node, visit func(n, parent ast.Node) bool) {
	for _, p := range partsOf(v.Type()) {
		p.walk(v.Field(p.field), parent, visit)
	}
}

func (p part) walk(v reflect.Value, parent ast.Node, visit func(n, parent ast.Node) bool) {
	switch p.how {
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
	case isParts:
		walkParts(v, parent, visit)
	case atParts:
		if !v.IsNil() {
			walkParts(v.Elem(), parent, visit)
		}
	}
}

package script

import (
	"math/big"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
)

// handlerTexts finds the handlers that the text shows.
func (in *Text) handlerTexts() map[sandbox.HandlerKey]handlerText {
	texts := make(map[sandbox.HandlerKey]handlerText)
	returns := make(map[ast.Expression][]returnText) // many handlers may be one function
	note := func(key sandbox.HandlerKey, at file.Idx, value ast.Expression) {
		text := handlerText{at: at}
		if f := in.Resolve(value); f != nil {
			if _, _, ok := Function(f); ok {
				list, known := returns[f]
				if !known {
					list = in.returnTexts(f)
					returns[f] = list
				}
				text = handlerText{at: in.Start(f), returns: list}
			}
		}
		texts[key] = text
	}
	in.members("producers", func(name string, at file.Idx, value ast.Expression) {
		if o, ok := in.Resolve(value).(*ast.ObjectLiteral); ok {
			at, value = in.producerHandler(o, at)
		}
		note(sandbox.HandlerKey{Phase: sandbox.Producer, Name: name}, at, value)
	})
	in.members("consumers", func(name string, _ file.Idx, value ast.Expression) {
		o, ok := in.Resolve(value).(*ast.ObjectLiteral)
		if !ok {
			return
		}
		for _, phase := range []sandbox.Phase{sandbox.Prepare, sandbox.Mutate, sandbox.Next} {
			if at, f := in.Member(o, string(phase)); f != nil {
				note(sandbox.HandlerKey{Phase: phase, Name: name}, at, f)
			}
		}
	})
	return texts
}

// members visits the members of one of the workflow's groups.
func (in *Text) members(group string, visit func(name string, at file.Idx, value ast.Expression)) {
	_, value := in.Find(group)
	o, ok := in.Resolve(value).(*ast.ObjectLiteral)
	if !ok {
		return
	}
	for _, p := range o.Value {
		switch p := p.(type) {
		case *ast.PropertyShort:
			visit(p.Name.Name.String(), p.Name.Idx, &p.Name)
		case *ast.PropertyKeyed:
			if key, ok := p.Key.(*ast.StringLiteral); ok && !p.Computed {
				visit(key.Value.String(), key.Idx, p.Value)
			}
		}
	}
}

// producerHandler is the function of a producer that is an object, or the place of the object.
func (in *Text) producerHandler(o *ast.ObjectLiteral, otherwise file.Idx) (at file.Idx, f ast.Expression) {
	for _, name := range ProducerHandlers {
		if at, f := in.Member(o, name); f != nil {
			return at, f
		}
	}
	return otherwise, nil
}

func (in *Text) returnTexts(f ast.Expression) (list []returnText) {
	for _, r := range in.Returns(f) {
		if r.Value != nil { // nothing is never wrong
			text := returnText{at: r.At, most: maxJSON(r.Value)}
			if o, ok := in.Resolve(r.Value).(*ast.ObjectLiteral); ok {
				_, reservations := in.Member(o, "reservations")
				text.reserves = reservations != nil
			}
			list = append(list, text)
		}
	}
	return list
}

// maxJSON bounds the length of a constant's JSON; 0 for what is no constant, or has no JSON.
func maxJSON(e ast.Expression) int {
	switch e := e.(type) {
	case *ast.NullLiteral, *ast.BooleanLiteral:
		return len("false")
	case *ast.StringLiteral:
		text := e.Value.String()
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
			return 2 + 6*len(text) // as \u0000
		}
		return 2 + len(text)
	case *ast.NumberLiteral:
		if _, isBig := e.Value.(*big.Int); !isBig {
			return 32
		}
	case *ast.ArrayLiteral:
		total := 2
		for _, item := range e.Value {
			most := maxJSON(item)
			if most == 0 {
				return 0
			}
			total += most + 1
		}
		return total
	case *ast.ObjectLiteral:
		total := 2
		for _, p := range e.Value {
			keyed, ok := p.(*ast.PropertyKeyed)
			if !ok || keyed.Computed || keyed.Kind != ast.PropertyKindValue {
				return 0
			}
			key, value := maxJSON(keyed.Key), maxJSON(keyed.Value)
			if key == 0 || value == 0 {
				return 0
			}
			total += key + value + 2
		}
		return total
	}
	return 0
}

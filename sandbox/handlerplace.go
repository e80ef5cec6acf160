package sandbox

import (
	"math/big"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// handlerText is where a handler is written: of a failure of which the interpreter keeps no position,
// this is what can be said.
type handlerText struct {
	at      file.Idx
	returns []returnText
}

// returnText is a return of a handler.
type returnText struct {
	at file.Idx
	// most is how long the JSON of what it returns can be, 0 where the text does not tell.
	most int
	// reserves: it is an object that is written with reservations.
	reserves bool
}

// handlerTexts finds the handlers that the text shows.
func (in *inspection) handlerTexts() map[handlerKey]handlerText {
	texts := make(map[handlerKey]handlerText)
	returns := make(map[ast.Expression][]returnText) // many handlers may be one function
	note := func(key handlerKey, at file.Idx, value ast.Expression) {
		text := handlerText{at: at}
		if f := in.resolve(value); f != nil {
			if _, _, ok := function(f); ok {
				list, known := returns[f]
				if !known {
					list = in.returnTexts(f)
					returns[f] = list
				}
				text = handlerText{at: in.start(f), returns: list}
			}
		}
		texts[key] = text
	}
	in.members("producers", func(name string, at file.Idx, value ast.Expression) {
		if o, ok := in.resolve(value).(*ast.ObjectLiteral); ok {
			at, value = in.producerHandler(o, at)
		}
		note(handlerKey{Producer, name}, at, value)
	})
	in.members("consumers", func(name string, _ file.Idx, value ast.Expression) {
		o, ok := in.resolve(value).(*ast.ObjectLiteral)
		if !ok {
			return
		}
		for _, phase := range []Phase{Prepare, Mutate, Next} {
			if at, f := in.member(o, string(phase)); f != nil {
				note(handlerKey{phase, name}, at, f)
			}
		}
	})
	return texts
}

// members visits the members of one of the workflow's groups.
func (in *inspection) members(group string, visit func(name string, at file.Idx, value ast.Expression)) {
	_, value := in.find(group)
	o, ok := in.resolve(value).(*ast.ObjectLiteral)
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
func (in *inspection) producerHandler(o *ast.ObjectLiteral, otherwise file.Idx) (at file.Idx, f ast.Expression) {
	for _, name := range producerHandlers {
		if at, f := in.member(o, name); f != nil {
			return at, f
		}
	}
	return otherwise, nil
}

func (in *inspection) returnTexts(f ast.Expression) (list []returnText) {
	for _, r := range in.returns(f) {
		if r.e != nil { // nothing is never wrong
			text := returnText{at: r.at, most: mostJSON(r.e)}
			if o, ok := in.resolve(r.e).(*ast.ObjectLiteral); ok {
				_, reservations := in.member(o, "reservations")
				text.reserves = reservations != nil
			}
			list = append(list, text)
		}
	}
	return list
}

// mostJSON bounds the length of a constant's JSON; 0 for what is no constant, or has no JSON.
func mostJSON(e ast.Expression) int {
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
			most := mostJSON(item)
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
			key, value := mostJSON(keyed.Key), mostJSON(keyed.Value)
			if key == 0 || value == 0 {
				return 0
			}
			total += key + value + 2
		}
		return total
	}
	return 0
}

// position translates a place of the generated code.
func (s *script) position(at file.Idx) Place {
	if at <= 0 || s.text == nil {
		return Place{}
	}
	return authorPlace(s.text.Position(int(at) - s.text.Base()))
}

// handlerPlace is where a handler begins.
func (s *script) handlerPlace(key handlerKey) Place { return s.position(s.handlers[key].at) }

// returnPlace is the return of a handler that gave a value with a JSON of more than limit bytes, or
// without any for a limit of 0. Where the text shows several that may have, it is the handler.
func (s *script) returnPlace(key handlerKey, limit int) Place {
	return s.oneReturn(key, func(r returnText) bool { return r.most == 0 || limit > 0 && r.most > limit })
}

// malformedPlace is the return of prepare that gave no prepare result: missing tells that it had no reservations.
func (s *script) malformedPlace(key handlerKey, missing bool) Place {
	return s.oneReturn(key, func(r returnText) bool { return !missing || !r.reserves })
}

// oneReturn is the only return of a handler that may be meant; where the text shows several or none, it is the handler.
func (s *script) oneReturn(key handlerKey, meant func(returnText) bool) Place {
	var found Place
	for _, r := range s.handlers[key].returns {
		if !meant(r) {
			continue
		}
		at := s.position(r.at)
		if found.Line != 0 && at.Line != found.Line {
			return s.handlerPlace(key)
		}
		if found.Line == 0 {
			found = at
		}
	}
	if found.Line == 0 {
		return s.handlerPlace(key)
	}
	return found
}

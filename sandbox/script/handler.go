package script

import (
	"math/big"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
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
			text := returnText{at: r.At, most: mostJSON(r.Value)}
			if o, ok := in.Resolve(r.Value).(*ast.ObjectLiteral); ok {
				_, reservations := in.Member(o, "reservations")
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
func (s *Compiled) position(at file.Idx) sandbox.Place {
	if at <= 0 || s.text == nil {
		return sandbox.Place{}
	}
	return authorPlace(s.text.Position(int(at) - s.text.Base()))
}

// HandlerPlace is where a handler begins.
func (s *Compiled) HandlerPlace(key sandbox.HandlerKey) sandbox.Place {
	return s.position(s.handlers[key].at)
}

// ReturnPlace is the return of a handler that gave a value with a JSON of more than limit bytes, or
// without any for a limit of 0. Where the text shows several that may have, it is the handler.
func (s *Compiled) ReturnPlace(key sandbox.HandlerKey, limit int) sandbox.Place {
	return s.oneReturn(key, func(r returnText) bool { return r.most == 0 || limit > 0 && r.most > limit })
}

// MalformedPlace is the return of prepare that gave no prepare result: missing tells that it had no reservations.
func (s *Compiled) MalformedPlace(key sandbox.HandlerKey, missing bool) sandbox.Place {
	return s.oneReturn(key, func(r returnText) bool { return !missing || !r.reserves })
}

// oneReturn is the only return of a handler that may be meant; where the text shows several or none, it is the handler.
func (s *Compiled) oneReturn(key sandbox.HandlerKey, meant func(returnText) bool) sandbox.Place {
	var found sandbox.Place
	for _, r := range s.handlers[key].returns {
		if !meant(r) {
			continue
		}
		at := s.position(r.at)
		if found.Line != 0 && at.Line != found.Line {
			return s.HandlerPlace(key)
		}
		if found.Line == 0 {
			found = at
		}
	}
	if found.Line == 0 {
		return s.HandlerPlace(key)
	}
	return found
}

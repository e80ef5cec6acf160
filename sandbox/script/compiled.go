package script

import (
	"github.com/dop251/goja"
	"github.com/dop251/goja/file"

	"github.com/pawl-run/pawl/sandbox"
)

// Compiled is a compiled source; it holds no runtime and may be run by many goroutines at once.
type Compiled struct {
	Program *goja.Program
	// File is the author's File name as positions give it.
	File string
	// MarksThrows tells that throws of the program call throwMark.
	MarksThrows bool
	// Counts are where the statements are written that call countMark with their number; none unless the source is
	// Counted.
	Counts []sandbox.Place
	// handlers are where the handlers are written, and text what their places are of.
	handlers map[sandbox.HandlerKey]handlerText
	text     *file.File
}

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

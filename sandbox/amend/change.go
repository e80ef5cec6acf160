package amend

import (
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/js"

	"github.com/pawl-run/pawl/sandbox"
)

// Each of these makes one edit, the zero value where the text at the place is not what it expects.

// Rename gives the name at a place another one. A member in its short form keeps its value: { text } becomes
// { content: text }.
func (s *Source) Rename(at sandbox.Place, from, to string) sandbox.Edit {
	i := s.at(at)
	switch {
	case i < 0:
		return sandbox.Edit{}
	case s.tokens[i].kind == js.StringToken:
		if text := s.textOf(s.tokens[i]); len(text) > 1 && text[1:len(text)-1] == from {
			return s.edit(s.tokens[i].from, s.tokens[i].to, strconv.Quote(to))
		}
	case !s.is(i, from):
	case s.short(i):
		return s.edit(s.tokens[i].from, s.tokens[i].to, to+": "+from)
	default:
		return s.edit(s.tokens[i].from, s.tokens[i].to, to)
	}
	return sandbox.Edit{}
}

// short reports a member in its short form.
func (s *Source) short(i int) bool {
	return i > 0 && (s.is(i-1, "{") || s.is(i-1, ",")) && (s.is(i+1, ",") || s.is(i+1, "}") || s.is(i+1, "="))
}

// Path puts more names before the name at a place that is taken from something: res.items becomes res.body.items.
func (s *Source) Path(at sandbox.Place, name, before string) sandbox.Edit {
	i := s.at(at)
	if !s.is(i, name) || !s.is(i-1, ".") && !s.is(i-1, "?.") {
		return sandbox.Edit{}
	}
	return s.edit(s.tokens[i].from, s.tokens[i].from, before+".")
}

// Nest puts a name of a pattern into another pattern: { items } becomes { body: { items } }.
func (s *Source) Nest(at sandbox.Place, name, into string) sandbox.Edit {
	i := s.at(at)
	if !s.is(i, name) || !s.is(i-1, "{") && !s.is(i-1, ",") {
		return sandbox.Edit{}
	}
	last := s.end(i)
	if last < 0 {
		return sandbox.Edit{}
	}
	member := s.text[s.tokens[i].from:s.tokens[last].to]
	return s.edit(s.tokens[i].from, s.tokens[last].to, into+": { "+member+" }")
}

// Replace puts an expression in the place of the one that begins there.
func (s *Source) Replace(at sandbox.Place, text string) sandbox.Edit {
	i := s.at(at)
	last := s.end(i)
	if i < 0 || last < i {
		return sandbox.Edit{}
	}
	return s.edit(s.tokens[i].from, s.tokens[last].to, text)
}

// Expression is the text of the expression that begins at a place, empty for none.
func (s *Source) Expression(at sandbox.Place) string {
	i := s.at(at)
	last := s.end(i)
	if i < 0 || last < i {
		return ""
	}
	return s.text[s.tokens[i].from:s.tokens[last].to]
}

// Value is the place of the value of the member whose name is at a place; of one in its short form there is none.
func (s *Source) Value(at sandbox.Place) sandbox.Place {
	i := s.at(at)
	if i < 0 || !s.is(i+1, ":") || i+2 >= len(s.tokens) {
		return sandbox.Place{}
	}
	return s.placeOf(s.tokens[i+2].from)
}

// Unwrap puts the only argument of a call in the place of the call: JSON.stringify(x) becomes x. The place is where the
// callee begins, which is written so.
func (s *Source) Unwrap(at sandbox.Place, callee string) sandbox.Edit {
	i := s.at(at)
	if i < 0 {
		return sandbox.Edit{}
	}
	open := i
	for open < len(s.tokens) && !s.is(open, "(") {
		open++
	}
	if open+1 >= len(s.tokens) || s.text[s.tokens[i].from:s.tokens[open].from] != callee {
		return sandbox.Edit{}
	}
	closing, last := s.close(open), s.end(open+1)
	if last < open+1 || closing != last+1 {
		return sandbox.Edit{} // none, or several
	}
	return s.edit(s.tokens[i].from, s.tokens[closing].to, s.text[s.tokens[open+1].from:s.tokens[last].to])
}

// Swap puts a text in the place of the one that begins there, which is written so.
func (s *Source) Swap(at sandbox.Place, text, instead string) sandbox.Edit {
	from := s.offset(at)
	if from < 0 || !strings.HasPrefix(s.text[from:], text) {
		return sandbox.Edit{}
	}
	return s.edit(from, from+len(text), instead)
}

// Call is the text of the call whose callee begins at a place, up to its closing parenthesis; empty for none.
func (s *Source) Call(at sandbox.Place) string {
	i := s.at(at)
	open := i
	for open >= 0 && open < len(s.tokens) && !s.is(open, "(") {
		if open > i && s.is(open, ";") {
			return ""
		}
		open++
	}
	if i < 0 || open >= len(s.tokens) {
		return ""
	}
	closing := s.close(open)
	if closing < 0 {
		return ""
	}
	return s.text[s.tokens[i].from:s.tokens[closing].to]
}

// After puts text behind the token at a place.
func (s *Source) After(at sandbox.Place, text string) sandbox.Edit {
	i := s.at(at)
	if i < 0 {
		return sandbox.Edit{}
	}
	return s.edit(s.tokens[i].to, s.tokens[i].to, text)
}

// Insert puts text before the token at a place.
func (s *Source) Insert(at sandbox.Place, text string) sandbox.Edit {
	i := s.at(at)
	if i < 0 {
		return sandbox.Edit{}
	}
	return s.edit(s.tokens[i].from, s.tokens[i].from, text)
}

// Member adds a member to the object or an element to the array that begins at a place, as its last.
func (s *Source) Member(at sandbox.Place, text string) sandbox.Edit {
	i := s.at(at)
	if !s.is(i, "{") && !s.is(i, "[") {
		return sandbox.Edit{}
	}
	closing := s.close(i)
	if closing < 0 {
		return sandbox.Edit{}
	}
	last := s.tokens[closing-1]
	switch pad := map[bool]string{true: " ", false: ""}[s.is(i, "{")]; {
	case closing == i+1:
		return s.edit(s.tokens[i].to, s.tokens[closing].from, pad+text+pad)
	case last.kind == js.CommaToken:
		return s.edit(last.to, last.to, s.between(i)+text+",")
	default:
		return s.edit(last.to, last.to, ","+s.between(closing-1, i)+text)
	}
}

// between is what a new member of a bracket is set apart with: a line of its own where the members have one each.
func (s *Source) between(i int, open ...int) string {
	if len(open) > 0 {
		i = open[0]
	}
	if i+1 < len(s.tokens) && s.startsLine(i+1) {
		return "\n" + s.indent(i+1)
	}
	return " "
}

// indent is the white space before the first token of a line.
func (s *Source) indent(i int) string {
	begin := s.lines[s.placeOf(s.tokens[i].from).Line-1]
	rest := s.text[begin:]
	return rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]
}

// Drop removes the member or element that begins at a place, with its comma.
func (s *Source) Drop(at sandbox.Place) sandbox.Edit {
	i := s.at(at)
	if i < 1 {
		return sandbox.Edit{}
	}
	last := s.end(i)
	if last < i || last+1 >= len(s.tokens) {
		return sandbox.Edit{}
	}
	switch {
	case s.is(last+1, ","):
		to := s.tokens[last+1].to
		if last+2 < len(s.tokens) {
			to = s.tokens[last+2].from
		}
		return s.edit(s.tokens[i].from, to, "")
	case s.is(i-1, ","):
		return s.edit(s.tokens[i-1].from, s.tokens[last].to, "")
	}
	return s.edit(s.tokens[i].from, s.tokens[last].to, "")
}

// Begin puts a statement at the beginning of the block that is the body of the function that begins at a place.
func (s *Source) Begin(function sandbox.Place, statement string) sandbox.Edit {
	i := s.body(function)
	if i < 0 {
		return sandbox.Edit{}
	}
	if i+1 < len(s.tokens) && s.startsLine(i+1) && !s.is(i+1, "}") {
		return s.edit(s.tokens[i].to, s.tokens[i].to, "\n"+s.indent(i+1)+statement)
	}
	return s.edit(s.tokens[i].to, s.tokens[i].to, " "+statement)
}

// body is the index of the brace that opens the body of the function that begins at a place: the first one behind its
// parameters.
func (s *Source) body(function sandbox.Place) int {
	i := s.at(function)
	for ; i >= 0 && i < len(s.tokens) && !s.is(i, "("); i++ {
	}
	if i < 0 || i >= len(s.tokens) {
		return -1
	}
	for i = s.close(i) + 1; i > 0 && i < len(s.tokens) && !s.is(i, "{"); i++ {
		if s.is(i, "=>") && !s.is(i+1, "{") {
			return -1
		}
	}
	if i <= 0 || i >= len(s.tokens) {
		return -1
	}
	return i
}

// Initializer is the text of what the name at a place is declared as, empty for none.
func (s *Source) Initializer(at sandbox.Place) string {
	i := s.at(at)
	for ; i >= 0 && i < len(s.tokens) && !s.is(i, "="); i++ {
		if s.is(i, ";") || s.is(i, ")") || s.is(i, "}") {
			return ""
		}
	}
	last := s.end(i + 1)
	if i < 0 || last <= i {
		return ""
	}
	return s.text[s.tokens[i+1].from:s.tokens[last].to]
}

package amend

import (
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/pawl-run/pawl/sandbox"
)

// Source is an author's text as tokens; white space and comments are between them.
type Source struct {
	text   string
	lines  []int // where each line begins, in bytes
	tokens []token
}

// token is one token of a text, from a byte on and up to another.
type token struct {
	kind     js.TokenType
	from, to int
}

// Read splits a text into tokens. Of a text that cannot be read to its end only the beginning has any.
func Read(text string) *Source {
	s := &Source{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	lexer, at := js.NewLexer(parse.NewInputString(text)), 0
	for {
		kind, bytes := lexer.Next()
		if kind == js.DivToken || kind == js.DivEqToken {
			if s.beforeExpression() {
				kind, bytes = lexer.RegExp()
			}
		}
		if kind == js.ErrorToken {
			return s
		}
		switch kind {
		case js.WhitespaceToken, js.LineTerminatorToken, js.CommentToken, js.CommentLineTerminatorToken:
		default:
			s.tokens = append(s.tokens, token{kind, at, at + len(bytes)})
		}
		at += len(bytes)
	}
}

// beforeExpression reports whether a slash after the tokens so far begins a regular expression.
func (s *Source) beforeExpression() bool {
	if len(s.tokens) == 0 {
		return true
	}
	switch last := s.tokens[len(s.tokens)-1]; last.kind {
	case js.CloseParenToken, js.CloseBracketToken, js.CloseBraceToken, js.StringToken, js.TemplateToken,
		js.TemplateEndToken, js.RegExpToken, js.PrivateIdentifierToken, js.IncrToken, js.DecrToken:
		return false
	default:
		switch s.textOf(last) {
		case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "await", "yield", "else", "do":
			return true
		}
		return !js.IsIdentifierName(last.kind) && !js.IsNumeric(last.kind)
	}
}

func (s *Source) textOf(t token) string { return s.text[t.from:t.to] }

// offset is where a place is in the text, -1 where there is none.
func (s *Source) offset(at sandbox.Place) int {
	if at.Line < 1 || at.Line > len(s.lines) || at.Column < 1 {
		return -1
	}
	from, units := s.lines[at.Line-1], at.Column-1
	for units > 0 {
		r, size := utf8.DecodeRuneInString(s.text[from:])
		if size == 0 || r == '\n' {
			return -1
		}
		units -= max(1, utf16.RuneLen(r))
		from += size
	}
	return from
}

// placeOf is the place of a byte, with columns as editors count them.
func (s *Source) placeOf(offset int) sandbox.Place {
	line := sort.SearchInts(s.lines, offset+1)
	column := 1
	for _, r := range s.text[s.lines[line-1]:offset] {
		column += max(1, utf16.RuneLen(r))
	}
	return sandbox.Place{Line: line, Column: column}
}

// at is the index of the token that begins at a place, -1 for none.
func (s *Source) at(place sandbox.Place) int {
	offset := s.offset(place)
	i := sort.Search(len(s.tokens), func(i int) bool { return s.tokens[i].from >= offset })
	if offset < 0 || i == len(s.tokens) || s.tokens[i].from != offset {
		return -1
	}
	return i
}

// is reports whether there is a token of this text at an index.
func (s *Source) is(i int, text string) bool {
	return i >= 0 && i < len(s.tokens) && s.textOf(s.tokens[i]) == text
}

// close is the index of the token that closes the bracket at an index, -1 for none.
func (s *Source) close(i int) int {
	depth := 0
	for ; i < len(s.tokens); i++ {
		switch s.tokens[i].kind {
		case js.OpenBraceToken, js.OpenBracketToken, js.OpenParenToken, js.TemplateStartToken:
			depth++
		case js.CloseBraceToken, js.CloseBracketToken, js.CloseParenToken, js.TemplateEndToken:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// end is the index of the last token of the expression that begins with the token at an index: what follows it at the
// same level closes a bracket, or is a comma or a semicolon, or stands on a line of its own and continues nothing.
func (s *Source) end(i int) int {
	for first := i; i >= 0 && i < len(s.tokens); i++ {
		switch s.tokens[i].kind {
		case js.OpenBraceToken, js.OpenBracketToken, js.OpenParenToken, js.TemplateStartToken:
			if i = s.close(i); i < 0 {
				return -1
			}
		case js.CloseBraceToken, js.CloseBracketToken, js.CloseParenToken, js.TemplateEndToken, js.TemplateMiddleToken,
			js.CommaToken, js.SemicolonToken:
			return i - 1
		default:
			if i > first && s.startsLine(i) && js.IsIdentifierName(s.tokens[i].kind) && s.ends(i-1) {
				return i - 1
			}
		}
	}
	return len(s.tokens) - 1
}

// startsLine reports whether a token is the first of its line.
func (s *Source) startsLine(i int) bool {
	return i == 0 || strings.Contains(s.text[s.tokens[i-1].to:s.tokens[i].from], "\n")
}

// ends reports whether an expression can end with a token.
func (s *Source) ends(i int) bool {
	switch k := s.tokens[i].kind; k {
	case js.CloseBraceToken, js.CloseBracketToken, js.CloseParenToken, js.StringToken, js.TemplateToken,
		js.TemplateEndToken, js.RegExpToken:
		return true
	default:
		return js.IsIdentifierName(k) && !js.IsReservedWord(k) || js.IsNumeric(k)
	}
}

// edit replaces the bytes of a range.
func (s *Source) edit(from, to int, text string) sandbox.Edit {
	begin, end := s.placeOf(from), s.placeOf(to)
	return sandbox.Edit{Line: begin.Line, Column: begin.Column, EndLine: end.Line, EndColumn: end.Column, Text: text}
}

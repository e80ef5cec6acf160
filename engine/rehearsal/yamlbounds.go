package rehearsal

import (
	"fmt"

	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// MaxYAML bounds a test file in the YAML form, in bytes.
const MaxYAML = 1 << 20

// maxYAMLTokens bounds how many names, values and signs it has. To read one takes about 800 bytes, however short it is:
// a file that is nearly all signs would take 800 times its size. A usual file of MaxYAML bytes has fewer.
const maxYAMLTokens = 150_000

// maxYAMLDepth is how deep its lists and mappings may be nested.
const maxYAMLDepth = 64

// BoundYAML refuses a file that is too large, has too many tokens or is nested too deep, with a *ReadError. It is read
// in this process, by a parser that calls itself for each level: a small file of many levels would take all memory. So
// its tokens are counted before, without keeping them.
func BoundYAML(text string) error {
	if len(text) > MaxYAML {
		return &ReadError{Message: fmt.Sprintf("the file has %d bytes, at most %d are allowed: make several files of it",
			len(text), MaxYAML)}
	}
	var s scanner.Scanner
	s.Init(text)
	levels, count := nesting{}, 0
	for {
		tokens, err := s.Scan()
		if err != nil {
			return nil // the end of the file; what is no YAML is said by the parser
		}
		for _, t := range tokens {
			if count++; count > maxYAMLTokens {
				return &ReadError{Line: t.Position.Line, Message: fmt.Sprintf("the file has more than %d names, values and "+
					"signs: make several files of it", maxYAMLTokens)}
			}
			if levels.add(t) > maxYAMLDepth {
				return &ReadError{Line: t.Position.Line, Message: fmt.Sprintf("this is nested too deep: lists and mappings "+
					"may stand %d levels deep in each other", maxYAMLDepth)}
			}
		}
	}
}

// nesting is how deep a place of a YAML text is nested.
type nesting struct {
	// flow counts the open brackets.
	flow int
	// columns are where the open blocks begin, each to the right of the one before.
	columns []int
	// marks counts tags and anchors that follow each other: each of them is about the next.
	marks int
	// line and column are where the last token began.
	line, column int
	// first says that the last block began with the first token of a line: a colon right behind it begins no other one.
	first bool
}

// add goes on to the next token, and returns the depth there.
func (n *nesting) add(t *token.Token) int {
	line, column := t.Position.Line, t.Position.Column
	marks := 0
	switch t.Type {
	case token.CommentType:
		return 0 // it may begin anywhere, and ends no block
	case token.SequenceStartType, token.MappingStartType:
		n.flow++
	case token.SequenceEndType, token.MappingEndType:
		n.flow = max(n.flow-1, 0)
	case token.TagType, token.AnchorType, token.AliasType:
		marks = n.marks + 1
	}
	n.marks = marks
	if n.flow == 0 {
		n.block(t.Type, line, column)
	}
	n.line, n.column = line, column
	return n.flow + len(n.columns) + n.marks
}

// block follows the blocks: each begins with the first token of a line, with what stands behind a dash or a question
// mark, and with a key behind those.
func (n *nesting) block(kind token.Type, line, column int) {
	newLine := line != n.line
	begins := column
	switch {
	case newLine:
	case kind == token.SequenceEntryType, kind == token.MappingKeyType:
	case kind == token.MappingValueType && !n.first:
		begins = n.column // of its key
	default:
		n.first = false
		return
	}
	for len(n.columns) > 0 && n.columns[len(n.columns)-1] >= begins {
		n.columns = n.columns[:len(n.columns)-1]
	}
	n.columns = append(n.columns, begins)
	n.first = newLine
}

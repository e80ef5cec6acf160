package csv

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxRecord is the most bytes one record may have.
const maxRecord = 8 << 20

var errRecordTooBig = errors.New("a record has more than 8 MiB; is a quote missing?")

var byteOrderMark = []byte("\xef\xbb\xbf")

// scanner reads records one by one and knows where they are. It takes what spreadsheets write and
// what people type: a quote inside an unquoted cell is a plain character.
type scanner struct {
	in    *bufio.Reader
	comma byte
	// offset is where the next record begins.
	offset int64
	raw    []byte
}

// record is one record; it is valid until the next call of next.
type record struct {
	// raw are its bytes, line end included.
	raw   []byte
	start int64
	// terminated: its line end is there. Only a file's last record may lack it.
	terminated bool
	// openQuote: the file ends inside a quoted cell.
	openQuote bool
}

func newScanner(r io.Reader, comma byte) *scanner {
	return &scanner{in: bufio.NewReaderSize(r, 64<<10), comma: comma}
}

// skipByteOrderMark skips it at the beginning of the file.
func (s *scanner) skipByteOrderMark() {
	if head, err := s.in.Peek(len(byteOrderMark)); err == nil && bytes.Equal(head, byteOrderMark) {
		n, _ := s.in.Discard(len(byteOrderMark)) // it was peeked
		s.offset += int64(n)
	}
}

// next returns the next record, or io.EOF.
func (s *scanner) next() (record, error) {
	s.raw = s.raw[:0]
	start := s.offset
	quoted, cellStart := false, true
	for {
		line, err := s.in.ReadSlice('\n')
		s.raw = append(s.raw, line...)
		s.offset += int64(len(line))
		if len(s.raw) > maxRecord {
			return record{}, errRecordTooBig
		}
		quoted, cellStart = s.follow(line, quoted, cellStart)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			if len(s.raw) == 0 {
				return record{}, io.EOF
			}
			return record{raw: s.raw, start: start, openQuote: quoted}, nil
		case err != nil:
			return record{}, err
		}
		if !quoted {
			return record{raw: s.raw, start: start, terminated: true}, nil
		}
	}
}

// follow says whether the text after line is inside a quoted cell.
func (s *scanner) follow(line []byte, quoted, cellStart bool) (bool, bool) {
	if !quoted && bytes.IndexByte(line, '"') < 0 {
		return false, len(line) > 0 && line[len(line)-1] == s.comma
	}
	for _, b := range line {
		switch {
		case b == '"' && quoted:
			quoted = false // a doubled quote opens it again at once
			cellStart = true
		case b == '"' && cellStart:
			quoted = true
			cellStart = false
		default:
			cellStart = b == s.comma
		}
	}
	return quoted, cellStart
}

// cells splits a record's bytes, without its line end.
func cells(raw []byte, comma byte) []string {
	var out []string
	for c := newCellReader(raw, comma); c.next(); {
		out = append(out, string(c.cell))
	}
	return out
}

// cellAt is one cell of a record; false if the record has fewer. It is valid until the record is not.
func cellAt(raw []byte, comma byte, at int) ([]byte, bool) {
	c := newCellReader(raw, comma)
	for ; at >= 0; at-- {
		if !c.next() {
			return nil, false
		}
	}
	return c.cell, true
}

// cellReader goes through the cells of a record. It copies none but those with quotes inside.
type cellReader struct {
	// cell is the current one.
	cell  []byte
	rest  []byte
	comma byte
	ended bool
}

func newCellReader(raw []byte, comma byte) *cellReader {
	return &cellReader{rest: trimLineEnd(raw), comma: comma}
}

// next goes on to the next cell; false after the last one.
func (c *cellReader) next() bool {
	if c.ended {
		return false
	}
	if len(c.rest) > 0 && c.rest[0] == '"' {
		c.quoted()
		return true
	}
	end := bytes.IndexByte(c.rest, c.comma)
	if c.ended = end < 0; c.ended {
		c.cell = c.rest
		return true
	}
	c.cell, c.rest = c.rest[:end], c.rest[end+1:]
	return true
}

// quoted reads a cell with its opening quote.
func (c *cellReader) quoted() {
	raw := c.rest[1:]
	if end := bytes.IndexByte(raw, '"'); end >= 0 && (end+1 == len(raw) || raw[end+1] == c.comma) {
		c.cell, c.ended = raw[:end], end+1 == len(raw)
		if !c.ended {
			c.rest = raw[end+2:]
		}
		return
	}
	var text []byte
	quoted := true
	for i := 0; i < len(raw); i++ {
		b := raw[i]
		switch {
		case quoted && b == '"' && i+1 < len(raw) && raw[i+1] == '"':
			text = append(text, '"')
			i++
		case quoted && b == '"':
			quoted = false
		case !quoted && b == c.comma:
			c.cell, c.rest = text, raw[i+1:]
			return
		default:
			text = append(text, b)
		}
	}
	c.cell, c.ended = text, true
}

func trimLineEnd(raw []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
}

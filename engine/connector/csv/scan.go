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
	raw = trimLineEnd(raw)
	var out []string
	for {
		if len(raw) > 0 && raw[0] == '"' {
			cell, rest := quotedCell(raw[1:], comma)
			out = append(out, cell)
			if rest == nil {
				return out
			}
			raw = rest
			continue
		}
		end := bytes.IndexByte(raw, comma)
		if end < 0 {
			return append(out, string(raw))
		}
		out = append(out, string(raw[:end]))
		raw = raw[end+1:]
	}
}

// quotedCell reads a cell after its opening quote; rest is nil if it was the last one.
func quotedCell(raw []byte, comma byte) (cell string, rest []byte) {
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
		case !quoted && b == comma:
			return string(text), raw[i+1:]
		default:
			text = append(text, b)
		}
	}
	return string(text), nil
}

func trimLineEnd(raw []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
}

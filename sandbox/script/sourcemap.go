package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pawl-run/pawl/sandbox"
)

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// shiftColumns makes the generated columns of a source map those of the interpreter: it counts bytes
// from 1 where a map counts UTF-16 units from 0. Left alone, it would find the token behind the one that
// failed. The author's columns start at 1 too, as editors count them: the interpreter passes them on,
// and takes column 0 of the first line for no place at all. code is the text that the map is of.
func shiftColumns(sourceMap []byte, code string) ([]byte, error) {
	var m struct {
		Version  int      `json:"version"`
		Sources  []string `json:"sources"`
		Mappings string   `json:"mappings"`
		Names    []string `json:"names"`
	}
	if err := json.Unmarshal(sourceMap, &m); err != nil {
		return nil, fmt.Errorf("read the source map: %w", err)
	}
	lines := strings.Split(m.Mappings, ";")
	shifted := false
	for i, line := range lines {
		text, rest, _ := strings.Cut(code, "\n")
		code = rest
		if line == "" {
			continue
		}
		var err error
		if lines[i], err = shiftLine(line, text); err != nil {
			return nil, fmt.Errorf("read the source map: line %d is malformed", i+1)
		}
		if !shifted { // all others are told as distances from the one before
			if lines[i], err = shiftSource(lines[i]); err != nil {
				return nil, fmt.Errorf("read the source map: line %d is malformed", i+1)
			}
			shifted = true
		}
	}
	m.Mappings = strings.Join(lines, ";")
	return json.Marshal(m)
}

var errMalformedMap = errors.New("malformed")

// shiftLine shifts the segments of one line. Only the first holds an absolute column, the others the
// distance from the one before.
func shiftLine(line, text string) (string, error) {
	if sandbox.IsASCII(text) {
		column, rest, ok := decodeVLQ(line)
		if !ok || column < 0 {
			return "", errMalformedMap
		}
		return encodeVLQ(column+1) + rest, nil
	}
	segments := strings.Split(line, ",")
	bytes, before := 0, -1
	for i, segment := range segments {
		step, rest, ok := decodeVLQ(segment)
		if !ok || step < 0 {
			return "", errMalformedMap
		}
		for passed := 0; passed < step && bytes < len(text); {
			r, size := utf8.DecodeRuneInString(text[bytes:])
			passed += max(1, utf16.RuneLen(r))
			bytes += size
		}
		segments[i] = encodeVLQ(bytes-before) + rest
		before = bytes
	}
	return strings.Join(segments, ","), nil
}

// shiftSource moves the author's column of the first segment of the first line that has one: generated
// column, source, line, column, and perhaps a name.
func shiftSource(line string) (string, error) {
	var b strings.Builder
	rest := line
	for field := range 4 {
		n, after, ok := decodeVLQ(rest)
		if !ok || n < 0 {
			return "", errMalformedMap
		}
		if rest = after; field == 3 {
			n++
		}
		b.WriteString(encodeVLQ(n))
	}
	return b.String() + rest, nil
}

// utf16Length is how long editors take a text to be.
func utf16Length(text string) int {
	length := 0
	for _, r := range text {
		length += max(1, utf16.RuneLen(r))
	}
	return length
}

// decodeVLQ reads the first number of a segment: groups of five bits, least significant first, the
// sixth bit says that more follow, the lowest bit of all is the sign.
func decodeVLQ(s string) (n int, rest string, ok bool) {
	shift := 0
	for i := range len(s) {
		digit := strings.IndexByte(base64Digits, s[i])
		if digit < 0 || shift > 25 {
			return 0, "", false
		}
		n |= digit & 31 << shift
		shift += 5
		if digit&32 == 0 {
			if n&1 != 0 {
				return -(n >> 1), s[i+1:], true
			}
			return n >> 1, s[i+1:], true
		}
	}
	return 0, "", false
}

// encodeVLQ writes a number that is not negative, as columns are.
func encodeVLQ(n int) string {
	var b strings.Builder
	for n <<= 1; ; {
		digit := n & 31
		if n >>= 5; n > 0 {
			b.WriteByte(base64Digits[digit|32])
			continue
		}
		b.WriteByte(base64Digits[digit])
		return b.String()
	}
}

package sandbox

import (
	"encoding/json"
	"fmt"
	"strings"
)

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// shiftColumns moves every generated column of a source map by one. The interpreter looks positions
// up by columns that start at 1 while a map's start at 0; unshifted, it finds the token behind the
// one that failed. Only the first segment of a line holds an absolute column.
func shiftColumns(sourceMap []byte) ([]byte, error) {
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
	for i, line := range lines {
		if line == "" {
			continue
		}
		column, rest, ok := decodeVLQ(line)
		if !ok {
			return nil, fmt.Errorf("read the source map: line %d is malformed", i+1)
		}
		lines[i] = encodeVLQ(column+1) + rest
	}
	m.Mappings = strings.Join(lines, ";")
	return json.Marshal(m)
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

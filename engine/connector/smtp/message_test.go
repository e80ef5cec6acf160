package smtp

import (
	"strings"
	"testing"
)

// What is not a header and a body of bounded ASCII lines is no mail that leaves, whatever wrote it.
func TestCheckLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A: 1\r\n b\r\n\tc\r\nB-C:\r\n\r\nbody: x\r\n\r\n .\r\n": "",
		"A: 1\r\n\r\n":               "",
		"":                           "it has no body",
		"A: 1\r\n":                   "it has no body",
		"A: 1\nB: 2\r\n\r\n":         "line 1 has the byte 0xa",
		"A: 1\rB: 2\r\n\r\n":         "line 1 has the byte 0xd",
		"A: 1\r\n\r\nx\n.\n":         "line 3 has the byte 0xa",
		"A: \x00\r\n\r\n":            "line 1 has the byte 0x0",
		"A: \xc3\xb6\r\n\r\n":        "line 1 has the byte 0xc3",
		"A: 1\r\n\r\n\x7f":           "line 3 has the byte 0x7f",
		" A: 1\r\n\r\n":              "line 1 is no header",
		"A: 1\r\n  \r\nB: 2\r\n\r\n": "line 2 is no header",
		"A: 1\r\nB\r\n\r\n":          "line 2 is no header",
		"A: 1\r\n: 2\r\n\r\n":        "line 2 is no header",
		"A: 1\r\nB C: 2\r\n\r\n":     "line 2 is no header",
		"A: " + strings.Repeat("x", 996) + "\r\n\r\n": "line 1 has 999 bytes",
		"A: " + strings.Repeat("x", 995) + "\r\n\r\n": "",
	} {
		got := ""
		if err := checkLines([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

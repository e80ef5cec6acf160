package mailparse

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/engine/connector"
)

// FuzzParse wants that any bytes have a result within its bounds: the headers are heard once, what is said of a
// malformed mail is one short printable line, and the whole fits into a call's result.
func FuzzParse(f *testing.F) {
	for _, mail := range fixtures(f) {
		f.Add([]byte(mail))
	}
	for _, mail := range []string{
		"", "\x00", "Subject: =?utf-8?Q?=00?=\n\n", "Content-Type: multipart/mixed; boundary=a\n\n--a\n\n--a--",
		"Subject: x\nContent-Type: text/html\n\n<b><a href=x><p>y<script>",
		"Subject: x\nContent-Type: multipart/mixed; boundary=\"\"\n\n--\n",
		"To: (((\"<@a:b\nDate: Mon, 6 Jan 99999 10:00:00 +0000\n\n",
		"Subject: x\nContent-Type: image/png; boundary=b\n\n--b\nContent-Type: a/b; boundary=b\n\n--b\n",
	} {
		f.Add([]byte(mail))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		heard := 0
		var head Head
		m, whole := parse(data[:min(len(data), 64<<10)], []string{"x", "to"}, func(h Head) { head, heard = h, heard+1 })
		if heard != 1 || head.Subject != m.Subject || head.From != m.From {
			t.Errorf("the headers were heard %d times: %+v, then %+v", heard, head, m.Head)
		}
		if !whole && !m.Malformed || head.Malformed && !m.Malformed {
			t.Errorf("whole %v, malformed %v, its head %v", whole, m.Malformed, head.Malformed)
		}
		if m.Malformed != (m.Error != "") || len(m.Error) > maxError || strings.ContainsFunc(m.Error,
			func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("malformed %v, error %q", m.Malformed, m.Error)
		}
		text, err := json.Marshal(m)
		if err != nil || len(text) > connector.MaxResult || !utf8.Valid(text) {
			t.Errorf("a result of %d bytes, %v", len(text), err)
		}
	})
}

// FuzzTextOf wants that any HTML has text, and that what is longer than its bound is said to be cut.
func FuzzTextOf(f *testing.F) {
	for _, html := range []string{"", "<p>a<br>b", "<a href='x'>y<a href=#>z</a>", "<pre>\n\n\x00",
		"<script><!--<script>", "<b/><i></b>", "<table><td><li>"} {
		f.Add(html)
	}
	f.Fuzz(func(t *testing.T, html string) {
		const limit = 1000
		text, most, cut := textOf(html, limit)
		if !cut && len(text) > limit || most < 0 {
			t.Errorf("%d bytes of text, %d open at once, cut %v", len(text), most, cut)
		}
	})
}

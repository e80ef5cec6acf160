package maildir_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/maildir"
)

// patient is a box whose calls have time enough on a busy machine: what is judged is the mail.
func patient(t *testing.T) *box {
	return openWith(t, maildir.Config{Parser: parser, Timeout: 5 * time.Minute})
}

// Each hostile mail has a result or a reason, and the mail beside it does not suffer.
func TestHostileMails(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: some of its mails take seconds each")
	}
	mails := corpus()
	if len(mails) < 100 {
		t.Fatalf("%d hostile mails", len(mails))
	}
	for _, h := range mails {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			b := patient(t)
			b.put("a.eml", simple)
			b.putRaw("b.eml", h.mail)
			b.put("c.eml", simple)
			listed, ids, _ := b.list(`{}`)
			if ids != "a.eml b.eml c.eml" || listed[0].Subject != "hello" || listed[2].Subject != "hello" ||
				listed[0].Malformed || listed[2].Malformed {
				t.Errorf("list = %s, beside it %+v %+v", ids, listed[0], listed[2])
			}
			got := b.get("b.eml")
			wantReason(t, "get", got, h.reason)
			if h.inPart {
				wantReason(t, "list", listed[1], "")
			} else {
				wantReason(t, "list", listed[1], h.reason)
			}
			if !strings.Contains(got.Text, h.text) {
				t.Errorf("text = %.100q, want %q in it", got.Text, h.text)
			}
			if m := b.get("c.eml"); m.Malformed || strings.TrimSpace(m.Text) != "hi" {
				t.Errorf("the mail after it = %+v", m)
			}
		})
	}
}

func wantReason(t *testing.T, operation string, m mail, reason string) {
	t.Helper()
	if m.Malformed != (reason != "") || m.Malformed != (m.Error != "") || !strings.Contains(m.Error, reason) {
		t.Errorf("%s: malformed %v, %q, want %q", operation, m.Malformed, m.Error, reason)
	}
	if len(m.Error) > 300 || strings.ContainsFunc(m.Error, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%s: the error has %d bytes: %q", operation, len(m.Error), m.Error)
	}
}

// Whatever a mail does, the process that asks for it takes little memory: less than the mail itself.
func TestAHostileMailCostsTheEngineNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: its mail of 31 MB takes seconds")
	}
	for name, text := range map[string]string{
		"formatting in HTML": bomb(),
		"200,000 parts": from + "Content-Type: multipart/mixed; boundary=B\r\n\r\n" + again("--B\r\n\r\nx\r\n",
			200_000),
		"190 multiparts": nested(190, "mixed", plain+again("text\r\n", 1000)),
		"31 MB":          from + plain + again("text\r\n", 31<<20/6),
	} {
		t.Run(name, func(t *testing.T) {
			b := patient(t)
			b.putRaw("a.eml", text)
			call := func(operation, params string) json.RawMessage {
				raw, failure := b.read(operation, params)
				if failure != nil {
					t.Fatal(failure)
				}
				return raw
			}
			call("list", `{}`) // what is made once is made now
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			list, get := call("list", `{}`), call("get", `{"id":"a.eml"}`)
			runtime.ReadMemStats(&after)
			if len(list) > connector.MaxResult || len(get) > connector.MaxResult {
				t.Errorf("list has %d bytes, get %d", len(list), len(get))
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
				t.Errorf("the engine allocated %d KiB", took>>10)
			}
		})
	}
}

func (b *box) putRaw(name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

package maildir_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/maildir"
	"github.com/pawl-run/pawl/eventlog"
)

func oddNames() []string {
	names := []string{
		"6.a\nb", "6.a\tb", " ", "\t", "7.a\\b", " 8.x", "8.x ", "9.\uFFFD", "9.\u202ex", "12.n%E9w",
		"10." + strings.Repeat("y", 252), "11." + strings.Repeat("\u0085", 126),
	}
	if runtime.GOOS != "darwin" { // its file system wants text
		names = append(names, "5.n\xe9w", "5.n\xe8w", "11."+strings.Repeat("\xff", 252))
	}
	return names
}

func TestEveryListedMailCanBePublishedAndReadWhateverItsFileIsCalled(t *testing.T) {
	b := open(t)
	oddNames := oddNames()
	for i, name := range oddNames {
		b.put("new/"+name, fmt.Sprintf("Subject: mail %d\n\nhi\n", i))
	}
	mails, ids, _ := b.list(`{}`)
	if len(mails) != len(oddNames) {
		t.Fatalf("%d mails are listed, want %d: %q", len(mails), len(oddNames), ids)
	}
	byID := make(map[string]string)
	for _, m := range mails {
		if err := eventlog.MessageID(m.ID).Validate(); err != nil || strings.TrimSpace(m.ID) == "" {
			t.Errorf("%q is not fit for an event: %v", m.ID, err)
		}
		byID[m.ID] = m.Subject
		if got := b.get(m.ID); got.ID != m.ID || got.Subject != m.Subject || m.Malformed {
			t.Errorf("get %q = %q %q, listed as %q, malformed %v", m.ID, got.ID, got.Subject, m.Subject, m.Malformed)
		}
	}
	if len(byID) != len(oddNames) {
		t.Errorf("%d ids for %d mails: %q", len(byID), len(oddNames), ids)
	}
	// A page goes on behind each of them.
	var paged []string
	for after := "null"; ; {
		_, id, next := b.list(`{"limit":1,"after":` + after + `}`)
		paged = append(paged, id)
		if next == nil {
			break
		}
		encoded, err := json.Marshal(*next)
		if err != nil {
			t.Fatal(err)
		}
		after = string(encoded)
	}
	if got := strings.Join(paged, " "); got != ids {
		t.Errorf("page by page: %q, want %q", got, ids)
	}
	// The ids stay when the mails are moved and read by another process.
	if err := os.Mkdir(filepath.Join(b.dir, "cur"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range oddNames {
		flagged := name
		if len(name) < 250 {
			flagged += ":2,S"
		}
		if err := os.Rename(filepath.Join(b.dir, "new", name), filepath.Join(b.dir, "cur", flagged)); err != nil {
			t.Fatal(err)
		}
	}
	other, err := maildir.New(maildir.Config{Root: b.dir, Parser: parser})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if b.r, err = connector.NewRegistry(other); err != nil {
		t.Fatal(err)
	}
	if _, moved, _ := b.list(`{}`); moved != ids {
		t.Errorf("after they were moved: %q, want %q", moved, ids)
	}
}

func TestWhatIsWrongWithAMailIsOneShortPrintableLine(t *testing.T) {
	b := open(t)
	junk := make([]byte, 100_000)
	for i := range junk {
		junk[i] = byte(i*i*7 + i>>3)
	}
	b.put("a.eml", string(junk))
	b.put("b.eml", "")
	b.put("c.eml", " "+strings.Repeat("\x00\x1b[31m", 5000))
	b.put("d.eml", strings.Repeat("\u202eno header here ", 5000))
	mails, _, _ := b.list(`{}`)
	if len(mails) != 4 {
		t.Fatalf("%d mails", len(mails))
	}
	for _, m := range mails {
		got := b.get(m.ID)
		if !m.Malformed || m.Error == "" || got.Error != m.Error {
			t.Errorf("%s: list says %q, get says %q", m.ID, m.Error, got.Error)
		}
		if !got.Malformed || len(got.Error) > 300 || strings.ContainsFunc(got.Error, func(r rune) bool {
			return !unicode.IsPrint(r)
		}) {
			t.Errorf("%s: malformed %v, error %d bytes: %q", m.ID, got.Malformed, len(got.Error), got.Error)
		}
	}
}

func TestListAndGetAgreeOnAHeaderWithoutEnd(t *testing.T) {
	b := open(t)
	b.put("a.eml", "Subject: "+strings.Repeat("x", 2_000_000)+"\nFrom: Ann <ann@example.com>\n\nhi\n")
	b.put("b.eml", "Subject: folded\n"+strings.Repeat(" "+strings.Repeat("y", 70)+"\n", 30_000)+
		"From: Ann <ann@example.com>\n\nhi\n")
	b.put("c.eml", "Subject: "+strings.Repeat("z", 8<<20))
	mails, _, _ := b.list(`{}`)
	if len(mails) != 3 {
		t.Fatalf("%d mails", len(mails))
	}
	for _, m := range mails {
		got := b.get(m.ID)
		if m.Malformed || got.Malformed || m.Subject != got.Subject || m.From != got.From || !m.Truncated ||
			!got.Truncated {
			t.Errorf("%s: list %v %v %q %q, get %v %v %q %q", m.ID, m.Malformed, m.Truncated, m.From, m.Error,
				got.Malformed, got.Truncated, got.From, got.Error)
		}
		if len(m.Subject) < 8000 || len(m.Subject) > 8<<10+len("…") || !strings.HasSuffix(m.Subject, "…") {
			t.Errorf("%s: the subject has %d bytes", m.ID, len(m.Subject))
		}
		if m.ID != "c.eml" && m.From != "Ann <ann@example.com>" {
			t.Errorf("%s: the sender behind the long header is %q", m.ID, m.From)
		}
	}
}

func TestNoMailIsTooBigForAResult(t *testing.T) {
	b := open(t)
	var mail strings.Builder
	mail.WriteString("Subject: " + strings.Repeat("<", 20_000) + "\n")
	for _, header := range []string{"To", "Cc"} {
		for i := range 30 {
			fmt.Fprintf(&mail, "%s: \"%s\" <a%d@example.com>\n", header, strings.Repeat("<", 3000), i)
		}
	}
	for range 100 {
		mail.WriteString("X-Tag: " + strings.Repeat("<", 100) + "\n")
	}
	mail.WriteString("Content-Type: multipart/mixed; boundary=B\n\n--B\n\n" + strings.Repeat("<", 300_000) + "\n")
	for range 150 {
		fmt.Fprintf(&mail, "--B\nContent-Type: application/pdf\nContent-Disposition: attachment; "+
			"filename=\"%s\"\n\nx\n", strings.Repeat("<", 900))
	}
	mail.WriteString("--B--\n")
	b.put("a.eml", mail.String())
	b.put("b.eml", simple)
	mails, ids, _ := b.list(`{}`)
	if ids != "a.eml b.eml" || !mails[0].Truncated || mails[1].Truncated {
		t.Errorf("list = %s", ids)
	}
	if m := b.get("a.eml"); !m.Truncated || m.Malformed || len(m.To) == 0 || len(m.Attachments) == 0 ||
		len(m.Headers["x-tag"]) == 0 {
		t.Errorf("get: truncated %v, %q, %d addresses, %d attachments, %d tags", m.Truncated, m.Error, len(m.To),
			len(m.Attachments), len(m.Headers["x-tag"]))
	}
}

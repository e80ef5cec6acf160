package maildir_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/maildir"
	"github.com/pawl-run/pawl/eventlog"
)

// parserPath is a process that takes mails apart, as a release has it: without the C library and without the
// race detector, whose memory and slowness would decide which limit a mail meets.
var parserPath string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pawl-parser")
	if err == nil {
		parserPath = filepath.Join(dir, "parser")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", parserPath, "../mailparse/testdata/parser")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		var out []byte
		if out, err = build.CombinedOutput(); err != nil {
			err = fmt.Errorf("build a parser: %w\n%s", err, out)
		}
	}
	code := 1
	if err == nil {
		code = m.Run()
		err = goleak.Find()
	}
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func parser() *exec.Cmd { return exec.Command(parserPath) }

type box struct {
	*testing.T
	dir string
	r   *connector.Registry
}

func open(t *testing.T) *box {
	t.Helper()
	return openWith(t, maildir.Config{Parser: parser})
}

func openWith(t *testing.T, config maildir.Config) *box {
	t.Helper()
	config.Root = t.TempDir()
	c, err := maildir.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := connector.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	return &box{t, config.Root, r}
}

func (b *box) put(name, text string) {
	b.Helper()
	path := filepath.Join(b.dir, name)
	text = strings.ReplaceAll(text, "\n", "\r\n")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		b.Fatal(err)
	}
}

func (b *box) read(operation, params string) (json.RawMessage, *eventlog.Failure) {
	b.Helper()
	raw, err := b.r.Read(b.Context(), connector.Call{Connector: "maildir", Operation: operation,
		Params: json.RawMessage(params)})
	var failure *eventlog.Failure
	if err != nil && !errors.As(err, &failure) {
		b.Fatal(err)
	}
	return raw, failure
}

type mail struct {
	ID, MessageID, From, FromAddress, Subject, Text, HTML, Error string
	To, Cc                                                       []string
	Date                                                         *string
	Malformed, Truncated                                         bool
	Attachments                                                  []struct {
		Filename, ContentType string
		Size                  int
	}
	Headers map[string][]string
}

func (b *box) get(id string) mail {
	b.Helper()
	raw, failure := b.read("get", fmt.Sprintf(`{"id":%q,"headers":["X-Tag"]}`, id))
	if failure != nil {
		b.Fatal(failure)
	}
	var m mail
	if err := json.Unmarshal(raw, &m); err != nil {
		b.Fatal(err)
	}
	return m
}

func (b *box) list(params string) (mails []mail, ids string, next *string) {
	b.Helper()
	raw, failure := b.read("list", params)
	if failure != nil {
		b.Fatal(failure)
	}
	var page struct {
		Mails []mail
		Next  *string
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		b.Fatal(err)
	}
	var all []string
	for _, m := range page.Mails {
		all = append(all, m.ID)
	}
	return page.Mails, strings.Join(all, " "), page.Next
}

const simple = "From: Ann <ann@example.com>\nTo: bob@example.com\nSubject: hello\nDate: Tue, 6 Jan 2026 10:00:00 " +
	"+0100\nMessage-ID: <1@example.com>\n\nhi\n"

const rich = `From: =?ISO-8859-1?Q?J=F6rg_M=FCller?= <joerg@example.com>
To: Bob <bob@example.com>, =?utf-8?B?w4Vzbw==?= <aso@example.com>
Cc: c@example.com
Subject: =?utf-8?Q?Rechnung_=E2=82=AC?=
 =?utf-8?Q?_5?=
Date: Mon, 5 Jan 2026 09:30:00 +0000 (UTC)
Message-ID: <rich@example.com>
X-Tag: =?utf-8?Q?=C3=A4?=
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=B1

--B1
Content-Type: multipart/alternative; boundary=B2

--B2
Content-Type: text/plain; charset=windows-1252
Content-Transfer-Encoding: quoted-printable

Betrag: =80 5
--B2
Content-Type: text/html; charset=utf-8

<p>Betrag</p>
--B2--
--B1
Content-Type: application/pdf; name="r.pdf"
Content-Disposition: attachment; filename="r.pdf"
Content-Transfer-Encoding: base64

aGVsbG8=
--B1--
`

func TestARealMail(t *testing.T) {
	b := open(t)
	b.put("new/1700000000.M1.host", rich)
	m := b.get("1700000000.M1.host")
	if m.From != "Jörg Müller <joerg@example.com>" || m.FromAddress != "joerg@example.com" ||
		m.Subject != "Rechnung € 5" || m.MessageID != "rich@example.com" {
		t.Errorf("head = %+v", m)
	}
	if strings.Join(m.To, "|") != "Bob <bob@example.com>|Åso <aso@example.com>" ||
		strings.Join(m.Cc, "|") != "c@example.com" {
		t.Errorf("to %v, cc %v", m.To, m.Cc)
	}
	if m.Date == nil || *m.Date != "2026-01-05T09:30:00Z" {
		t.Errorf("date = %v", m.Date)
	}
	if strings.TrimSpace(m.Text) != "Betrag: € 5" || !strings.Contains(m.HTML, "<p>Betrag</p>") {
		t.Errorf("text %q, html %q", m.Text, m.HTML)
	}
	if len(m.Attachments) != 1 || m.Attachments[0].Filename != "r.pdf" ||
		m.Attachments[0].ContentType != "application/pdf" || m.Attachments[0].Size != 5 {
		t.Errorf("attachments = %+v", m.Attachments)
	}
	if m.Malformed || len(m.Headers["x-tag"]) != 1 || m.Headers["x-tag"][0] != "ä" {
		t.Errorf("malformed %v, headers %v", m.Malformed, m.Headers)
	}
	mails, _, _ := b.list(`{}`)
	if len(mails) != 1 || mails[0].Subject != "Rechnung € 5" || mails[0].Text != "" {
		t.Errorf("list = %+v", mails)
	}
}

func TestOrderPagesAndIDs(t *testing.T) {
	b := open(t)
	for _, name := range []string{"cur/99.b.host:2,S", "new/100.a.host", "new/99.c.host", "cur/99.a.host:2,",
		"cur/1000000000000.z.host:2,RS", "new/.hidden", "tmp/1.x.host"} {
		b.put(name, simple)
	}
	if err := os.Mkdir(filepath.Join(b.dir, "cur", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	const all = "99.a.host 99.b.host 99.c.host 100.a.host 1000000000000.z.host"
	if _, ids, next := b.list(`{}`); ids != all || next != nil {
		t.Errorf("list = %s, next %v", ids, next)
	}
	if _, ids, _ := b.list(`{"folder":"new"}`); ids != "99.c.host 100.a.host" {
		t.Errorf("new = %s", ids)
	}
	var paged []string
	after := "null"
	for {
		_, ids, next := b.list(`{"limit":2,"after":` + after + `}`)
		paged = append(paged, ids)
		if next == nil {
			break
		}
		after = fmt.Sprintf("%q", *next)
	}
	if got := strings.Join(paged, " "); got != all || len(paged) != 3 {
		t.Errorf("pages = %v", paged)
	}
	// A mail that moves keeps its id, and a page after a mail that is gone goes on behind it.
	if err := os.Rename(filepath.Join(b.dir, "new/99.c.host"), filepath.Join(b.dir, "cur/99.c.host:2,S")); err != nil {
		t.Fatal(err)
	}
	if m := b.get("99.c.host"); m.ID != "99.c.host" || m.Subject != "hello" {
		t.Errorf("moved mail = %+v", m)
	}
	if err := os.Remove(filepath.Join(b.dir, "cur/99.c.host:2,S")); err != nil {
		t.Fatal(err)
	}
	if _, ids, _ := b.list(`{"after":"99.c.host"}`); ids != "100.a.host 1000000000000.z.host" {
		t.Errorf("after a mail that is gone = %s", ids)
	}
}

func TestAFolderOfEmlFiles(t *testing.T) {
	b := open(t)
	b.put("b.eml", simple)
	b.put("A.EML", simple)
	b.put("10.eml", simple)
	b.put("note.txt", "x")
	if _, ids, _ := b.list(`{"folder":"new"}`); ids != "10.eml A.EML b.eml" {
		t.Errorf("list = %s", ids)
	}
	if m := b.get("b.eml"); m.Subject != "hello" || strings.TrimSpace(m.Text) != "hi" {
		t.Errorf("mail = %+v", m)
	}
}

func TestAMalformedMailIsData(t *testing.T) {
	b := open(t)
	b.put("a.eml", simple)
	b.put("b.eml", "\x00\x01 this is no mail\n\nat all\n")
	b.put("c.eml", "")
	b.put("d.eml", simple)
	b.put("nested.eml", "Subject: bomb\nContent-Type: multipart/mixed; boundary=x\n\n"+
		strings.Repeat("--x\nContent-Type: multipart/mixed; boundary=x\n\n", 300))
	mails, ids, _ := b.list(`{}`)
	if ids != "a.eml b.eml c.eml d.eml nested.eml" {
		t.Fatalf("list = %s", ids)
	}
	for _, m := range mails {
		if want := m.ID == "b.eml" || m.ID == "c.eml" || m.ID == "nested.eml"; m.Malformed != want ||
			(m.Error != "") != want {
			t.Errorf("%s: malformed %v, error %q", m.ID, m.Malformed, m.Error)
		}
	}
	for _, id := range []string{"b.eml", "c.eml", "nested.eml"} {
		if m := b.get(id); !m.Malformed || m.Error == "" || m.ID != id {
			t.Errorf("%s = %+v", id, m)
		}
	}
}

func TestLongTextsAreCut(t *testing.T) {
	b := open(t)
	b.put("a.eml", simple+strings.Repeat("\x01", 2<<20))
	raw, failure := b.read("get", `{"id":"a.eml"}`)
	if failure != nil || len(raw) > connector.MaxResult || !strings.Contains(string(raw), `"truncated":true`) {
		t.Errorf("get = %d bytes, %v", len(raw), failure)
	}
}

func TestNothingOutsideIsRead(t *testing.T) {
	b := open(t)
	outside := filepath.Join(t.TempDir(), "secret.eml")
	if err := os.WriteFile(outside, []byte(simple), 0o600); err != nil {
		t.Fatal(err)
	}
	b.put("a.eml", simple)
	if err := errors.Join(os.Symlink(outside, filepath.Join(b.dir, "link.eml")),
		notRegular(filepath.Join(b.dir, "pipe.eml"))); err != nil {
		t.Fatal(err)
	}
	if _, ids, _ := b.list(`{}`); ids != "a.eml" {
		t.Errorf("list = %s", ids)
	}
	for id, want := range map[string]string{
		"../secret.eml": "logic maildir.outside", outside: "logic maildir.outside", ".": "logic maildir.outside",
		"link.eml": "precondition maildir.missing", "pipe.eml": "precondition maildir.missing",
		"gone": "precondition maildir.missing",
	} {
		_, failure := b.read("get", fmt.Sprintf(`{"id":%q}`, id))
		if failure == nil || string(failure.Class)+" "+failure.Code != want {
			t.Errorf("get %q: %+v, want %s", id, failure, want)
		}
	}
	// A Maildir whose folder is a link to elsewhere.
	linked := open(t)
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(linked.dir, "new")); err != nil {
		t.Fatal(err)
	}
	if _, failure := linked.read("list", `{}`); failure == nil || failure.Code != "maildir.outside" {
		t.Errorf("list through a link: %+v", failure)
	}
}

func TestRootMustExist(t *testing.T) {
	if _, err := maildir.New(maildir.Config{Root: filepath.Join(t.TempDir(), "gone"), Parser: parser}); err == nil ||
		!strings.Contains(err.Error(), "connectors.maildir.root") {
		t.Errorf("error %v", err)
	}
}

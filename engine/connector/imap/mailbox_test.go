package imap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/pawl-run/pawl/engine/connector/imap"
	"github.com/pawl-run/pawl/engine/connector/imap/imaptest"
	"github.com/pawl-run/pawl/eventlog"
)

// on runs a test on a server within this process, and on Dovecot.
func on(t *testing.T, test func(t *testing.T, s *imaptest.Server)) {
	t.Helper()
	t.Parallel()
	t.Run("within", func(t *testing.T) {
		t.Parallel()
		test(t, imaptest.Start(t, password))
	})
	t.Run("Dovecot", func(t *testing.T) {
		t.Parallel()
		test(t, imaptest.StartDovecot(t, password))
	})
}

var march = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

const order = `From: =?utf-8?q?J=C3=BCrgen?= <ann@example.com>
To: orders@example.net, Bob <bob@example.net>
Cc: c@example.net
Subject: =?iso-8859-1?q?Gr=FC=DFe?=
Message-ID: <7@example.com>
Date: Mon, 02 Mar 2026 10:00:00 +0000
X-Order: 7
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: base64

WndlaSBLw6RzdGVu
--b
Content-Type: application/pdf; name=a.pdf
Content-Disposition: attachment; filename=a.pdf
Content-Transfer-Encoding: base64

AAAA
--b--
`

// A mail has what its counterpart in a folder has, and what the server says of it; nothing of that changes the mailbox.
func TestAMail(t *testing.T) {
	on(t, func(t *testing.T, s *imaptest.Server) {
		s.Put(t, "INBOX", order, march)
		s.Put(t, "INBOX", "Subject: seen\nFrom: a@example.com\n\nHi", march, goimap.FlagSeen, "$Label1")
		before := s.Holds(t, "INBOX")
		b := open(t, imap.Config{Server: s.Address})
		for range 2 { // the second time the headers are known
			p := b.list(nil)
			if len(p.Mails) != 2 || p.Next != nil {
				t.Fatalf("listed %+v", p)
			}
			m := p.Mails[0]
			if m.From != "Jürgen <ann@example.com>" || m.FromAddress != "ann@example.com" || m.Subject != "Grüße" ||
				m.MessageID != "7@example.com" || len(m.To) != 2 || len(m.Cc) != 1 || m.Malformed || m.Truncated ||
				*m.Date != "2026-03-02T10:00:00Z" || len(m.Flags) != 0 ||
				!strings.HasSuffix(m.ID, ".1.INBOX") || m.Size != int64(len(order)+strings.Count(order, "\n")) {
				t.Errorf("listed %+v", m)
			}
			if at, err := time.Parse(time.RFC3339, *m.Received); err != nil || !at.Equal(march) {
				t.Errorf("received %s", *m.Received)
			}
			if flags := p.Mails[1].Flags; !slices.Contains(flags, `\Seen`) || len(flags) != 2 {
				t.Errorf("its flags are %q", flags)
			}
		}
		listed := b.list(nil).Mails[0]
		m := b.get(listed.ID, "X-Order", "X-None")
		if m.Text != "Zwei Kästen" || len(m.Attachments) != 1 || m.Attachments[0].Filename != "a.pdf" ||
			m.Attachments[0].Size != 3 || m.Headers["x-order"][0] != "7" || len(m.Headers) != 1 {
			t.Errorf("it is %+v", m)
		}
		if m.ID != listed.ID || m.Subject != listed.Subject || m.Size != listed.Size || *m.Received != *listed.Received ||
			*m.Date != *listed.Date || m.From != listed.From {
			t.Errorf("list and get differ:\n%+v\n%+v", listed, m)
		}
		if after := s.Holds(t, "INBOX"); !slices.Equal(before, after) {
			t.Errorf("the mailbox was %q and is %q", before, after)
		}
	})
}

// Pages come in the order of delivery, each mail once, whatever is deleted meanwhile.
func TestPages(t *testing.T) {
	on(t, func(t *testing.T, s *imaptest.Server) {
		b := open(t, imap.Config{Server: s.Address})
		if p := b.list(nil); len(p.Mails) != 0 || p.Next != nil || p.Mails == nil {
			t.Errorf("an empty mailbox: %+v", p)
		}
		for i := range 40 {
			s.Put(t, "INBOX", fmt.Sprintf("Subject: %d\nFrom: a@example.com\n\nHi", i+1), march.AddDate(0, 0, i))
		}
		s.Expunge(t, "INBOX", 20)
		subjects := func(params map[string]any) (got []string, pages int) {
			for {
				p := b.list(params)
				pages++
				for _, m := range p.Mails {
					got = append(got, m.Subject)
				}
				if p.Next == nil {
					return got, pages
				}
				if params["after"] == nil {
					s.Expunge(t, "INBOX", 3) // the one where the first page of three has ended
				}
				params["after"] = *p.Next
			}
		}
		all, pages := subjects(map[string]any{"limit": 3})
		if len(all) != 39 || pages != 13 || all[0] != "1" || all[38] != "40" || slices.Contains(all, "20") {
			t.Errorf("%d pages with %q", pages, all)
		}
		if some, pages := subjects(map[string]any{"limit": 38, "after": nil}); len(some) != 38 || pages != 1 {
			t.Errorf("%d pages with %q", pages, some)
		}
		late, _ := subjects(map[string]any{"since": "2026-04-09"})
		if strings.Join(late, " ") != "39 40" {
			t.Errorf("since the 9th of April there are %q", late)
		}
		last := b.list(map[string]any{"since": "2026-04-10"}).Mails
		if p := b.list(map[string]any{"after": last[len(last)-1].ID}); len(p.Mails) != 0 || p.Next != nil {
			t.Errorf("behind the last: %+v", p)
		}
		b.wantFailure("get", map[string]any{"id": strings.Replace(last[0].ID, ".40.", ".20.", 1)},
			eventlog.Precondition, "imap.missing")
	})
}

// An id from before a mailbox was numbered anew names no mail, rather than another one.
func TestAnotherNumbering(t *testing.T) {
	on(t, func(t *testing.T, s *imaptest.Server) {
		const name = "Bücher & mehr" // its name is encoded on the way
		s.Create(t, name)
		s.Put(t, name, "Subject: old\nFrom: a@example.com\n\nHi", march)
		b := open(t, imap.Config{Server: s.Address})
		old := b.list(map[string]any{"mailbox": name}).Mails[0]
		if !strings.HasSuffix(old.ID, ".1."+name) {
			t.Errorf("its id is %s", old.ID)
		}
		s.Delete(t, name)
		b.wantFailure("list", map[string]any{"mailbox": name}, eventlog.Precondition, "imap.refused")
		for {
			s.Create(t, name)
			s.Put(t, name, "Subject: new\nFrom: a@example.com\n\nHi", march)
			if now := b.list(map[string]any{"mailbox": name}).Mails[0]; now.ID != old.ID {
				break
			}
			s.Delete(t, name) // Dovecot's numberings are seconds
		}
		said := b.wantFailure("get", map[string]any{"id": old.ID}, eventlog.Precondition, "imap.renumbered")
		if !strings.Contains(said, "UIDVALIDITY") || !strings.Contains(said, name) {
			t.Errorf("it says %s", said)
		}
		b.wantFailure("list", map[string]any{"mailbox": name, "after": old.ID}, eventlog.Precondition, "imap.renumbered")
		if now := b.list(map[string]any{"mailbox": name}).Mails; len(now) != 1 || now[0].Subject != "new" {
			t.Errorf("there are %+v", now)
		}
	})
}

// A login goes over an encrypted connection, whose server is verified; what is refused is auth, and says no password.
func TestLogins(t *testing.T) {
	on(t, func(t *testing.T, s *imaptest.Server) {
		s.Put(t, "INBOX", order, march)
		for _, c := range []imap.Config{
			{Server: s.Address, TLS: "starttls", RootCAs: s.Roots}, {Server: s.Implicit, TLS: "implicit", RootCAs: s.Roots},
		} {
			if p := open(t, c).list(nil); len(p.Mails) != 1 {
				t.Errorf("%s: listed %+v", c.TLS, p)
			}
			c.Username, c.Password = imaptest.Username, "another s3cret"
			said := open(t, c).wantFailure("list", nil, eventlog.Auth, "imap.refused")
			if strings.Contains(said, c.Password) || !strings.Contains(said, s.Address[:10]) {
				t.Errorf("%s: it says %s", c.TLS, said)
			}
			c.RootCAs = nil
			said = open(t, c).wantFailure("list", nil, eventlog.Transient, "imap.connection")
			if !strings.Contains(said, "certificate") {
				t.Errorf("%s: another's certificate: %s", c.TLS, said)
			}
		}
		open(t, imap.Config{Server: s.Address, TLS: "implicit", RootCAs: s.Roots}).
			wantFailure("list", nil, eventlog.Transient, "imap.connection")
	})
}

// A mail may hold any number of what a list of the protocol begins with.
func TestBracketsInMails(t *testing.T) {
	on(t, func(t *testing.T, s *imaptest.Server) {
		many := strings.Repeat(strings.Repeat("(", 500)+"\n", 400)
		s.Put(t, "INBOX", "Subject: many\nFrom: a@example.com\nX-Many: "+strings.ReplaceAll(many, "\n", "\n ")+
			"x\n\n"+many, march)
		b := open(t, imap.Config{Server: s.Address})
		m := b.get(b.list(nil).Mails[0].ID)
		if m.Malformed || m.Text != strings.ReplaceAll(many, "\n", "\r\n") {
			t.Errorf("it is malformed %v, %s, with a text of %d bytes", m.Malformed, m.Error, len(m.Text))
		}
	})
}

// A secret of the configuration that stands in a mail is blanked out.
func TestSecretsInMails(t *testing.T) {
	on(t, func(t *testing.T, s *imaptest.Server) {
		s.Put(t, "INBOX", "Subject: "+password+"\nFrom: a@example.com\n\nother-s3cret", march)
		b := open(t, imap.Config{Server: s.Address, Secrets: []string{"other-s3cret"}})
		m := b.get(b.list(nil).Mails[0].ID)
		if m.Subject != "***" || m.Text != "***" {
			t.Errorf("it is %+v", m)
		}
	})
}

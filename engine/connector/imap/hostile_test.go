package imap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/imap"
	"github.com/pawl-run/pawl/eventlog"
)

var (
	whole = map[string]any{"id": "9.7.INBOX"}
	none  = map[string]any{}
)

// The desk of these tests is a server: without a change everything works.
func TestTheDesk(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := d.open()
	p := b.list(nil)
	if len(p.Mails) != 1 || p.Mails[0].ID != "9.7.INBOX" || p.Mails[0].Subject != "Hi" || p.Mails[0].Malformed ||
		*p.Mails[0].Received != "2026-03-02T10:00:00Z" {
		t.Fatalf("listed %+v", p)
	}
	if m := b.get("9.7.INBOX"); m.Text != "Text" || m.Malformed {
		t.Errorf("it is %+v", m)
	}
}

// What a broken or hostile server does ends the call by name, and costs the engine no more than a bound.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change    func(*desk)
		operation string
		class     eventlog.Class
		code      string
		says      string
	}{
		"a greeting without end": {func(d *desk) { d.greeting, d.then[""] = "* OK ", endless("x") }, "list",
			eventlog.Transient, "imap.answer", "much more than it was asked for"},
		"a goodbye instead of a greeting": {func(d *desk) { d.greeting = "* BYE too many of you\r\n" }, "list",
			eventlog.Transient, "imap.refused", "too many of you"},
		"no IMAP": {func(d *desk) { d.greeting = "SSH-2.0-OpenSSH_9.2\r\n" }, "list", eventlog.Transient,
			"imap.connection", ""},
		"another tag": {func(d *desk) { d.answers["EXAMINE"] = "X9 OK open\r\n" }, "list", eventlog.Transient,
			"imap.connection", ""},
		"a dropped connection": {func(d *desk) { d.answers["EXAMINE"], d.then["EXAMINE"] = "* 1 EX", drop }, "list",
			eventlog.Transient, "imap.connection", ""},
		"a line without end": {func(d *desk) { d.answers["EXAMINE"], d.then["EXAMINE"] = "* OK [ALERT] ", endless("x") },
			"list", eventlog.Transient, "imap.answer", ""},
		"flags without end": {func(d *desk) { d.answers["EXAMINE"], d.then["EXAMINE"] = "* FLAGS (", endless(`\a `) },
			"list", eventlog.Transient, "imap.answer", ""},
		"lists in each other": {func(d *desk) {
			d.answers["UID FETCH 7"], d.then["UID FETCH 7"] = "* 1 FETCH (UID 7 BODY ", endless("(")
		}, "get", eventlog.Transient, "imap.answer", "lists"},
		"lists in each other in place of a mail": {func(d *desk) {
			d.answers["BODY"], d.then["BODY"] = "* 1 FETCH (UID 7 BODY ", endless("(")
		}, "get", eventlog.Transient, "imap.answer", "lists"},
		"events without end": {func(d *desk) { d.answers["EXAMINE"], d.then["EXAMINE"] = "", endless("* 1 EXPUNGE\r\n") },
			"list", eventlog.Transient, "imap.answer", ""},
		"continuations": {func(d *desk) { d.answers["AUTHENTICATE"], d.then["AUTHENTICATE"] = "+ \r\n", endless("+ \r\n") },
			"list", eventlog.Transient, "imap.connection", ""},
		"no numbering": {func(d *desk) { d.answers["EXAMINE"] = "* 1 EXISTS\r\n# OK open\r\n" }, "list",
			eventlog.Precondition, "imap.numbers", "UIDVALIDITY"},
		"numbers without end": {func(d *desk) { d.answers["UID SEARCH"], d.then["UID SEARCH"] = "* SEARCH", endless(" 3") },
			"list", eventlog.Transient, "imap.answer", ""},
		"no such command": {func(d *desk) { d.answers["EXAMINE"] = "# BAD what?\r\n" }, "list", eventlog.Internal,
			"imap.refused", "what?"},
		"no such mailbox": {func(d *desk) { d.answers["EXAMINE"] = "# NO \x01 none\r\n" }, "list", eventlog.Precondition,
			"imap.refused", "the mailbox INBOX cannot be opened"},
		"no right": {func(d *desk) { d.answers["EXAMINE"] = "# NO [NOPERM] no\r\n" }, "list", eventlog.Permission,
			"imap.refused", ""},
		"a moment, please": {func(d *desk) { d.answers["AUTHENTICATE"] = "# NO [UNAVAILABLE] later\r\n" }, "list",
			eventlog.Transient, "imap.refused", "later"},
		"a wrong password": {func(d *desk) { d.answers["AUTHENTICATE"] = "# NO your " + password + " is wrong\r\n" },
			"list", eventlog.Auth, "imap.refused", "your *** is wrong"},
		"no login": {func(d *desk) {
			d.answers["CAPABILITY"] = "* CAPABILITY IMAP4rev1 LOGINDISABLED AUTH=GSSAPI\r\n# OK done\r\n"
		}, "list", eventlog.Auth, "imap.auth", "GSSAPI"},
		"a huge header": {func(d *desk) {
			d.answers["HEADER"], d.then["HEADER"] = "* 1 FETCH (UID 7 BODY[HEADER]<0> {9000000000}\r\n", endless("x")
		}, "list", eventlog.Transient, "imap.answer", "longer than"},
		"a mail that breaks off": {func(d *desk) {
			d.answers["BODY"], d.then["BODY"] = "* 1 FETCH (UID 7 BODY[] {43}\r\nFrom: a@ex", drop
		}, "get", eventlog.Transient, "imap.connection", ""},
		"a header that breaks off": {func(d *desk) {
			d.answers["HEADER"], d.then["HEADER"] = "* 1 FETCH (UID 7 BODY[HEADER]<0> {43}\r\nFrom: a@ex", drop
		}, "list", eventlog.Transient, "imap.connection", ""},
		"another mail": {func(d *desk) {
			d.answers["UID FETCH 7"] = "* 1 FETCH (UID 8 " + described + ")\r\n# OK done\r\n"
		}, "get", eventlog.Precondition, "imap.missing", ""},
		"a huge quoted text": {func(d *desk) {
			d.answers["HEADER"], d.then["HEADER"] = `* 1 FETCH (UID 7 BODY[HEADER]<0> "`, endless("x")
		}, "list", eventlog.Transient, "imap.answer", ""},
		"no headers of a mail that is there": {func(d *desk) { d.answers["HEADER"] = "# OK done\r\n" }, "list",
			eventlog.Transient, "imap.answer", "did not send the headers of the mail 9.7.INBOX"},
		"a date that is none": {func(d *desk) {
			d.answers["UID FETCH 7"] = "* 1 FETCH (UID 7 INTERNALDATE \"yesterday\")\r\n# OK done\r\n"
		}, "list", eventlog.Transient, "imap.connection", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, c.change)
			params := none
			if c.operation == "get" {
				params = whole
			}
			said := d.open().wantFailure(c.operation, params, c.class, c.code)
			if !strings.Contains(said, c.says) || !strings.Contains(said, d.address) && c.code != "imap.missing" &&
				c.code != "imap.numbers" || len(said) > 1000 || strings.ContainsAny(said, "\x01\n\x00") {
				t.Errorf("it says %q, want %q in it", said, c.says)
			}
		})
	}
}

// What a server says of a mail may be wrong: its content counts, and none of it is taken without bound.
func TestLiesAboutMails(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk) { // it says 43 bytes
		d.answers["BODY"], d.then["BODY"] = "* 1 FETCH (UID 7 BODY[] {9000000000}\r\n", endless("x")
	})
	if m := d.open().get("9.7.INBOX"); !m.Malformed || m.Subject != "Hi" || m.Text != "" ||
		!strings.Contains(m.Error, "the mail has more than") || m.Size <= 32<<20 {
		t.Errorf("a mail that is longer: %+v", m)
	}
	d = newDesk(t, func(d *desk) { // the mail is not fetched
		d.answers["UID FETCH 7"] = "* 1 FETCH (UID 7 RFC822.SIZE 9000000000)\r\n# OK done\r\n"
		delete(d.answers, "BODY")
	})
	b := d.open()
	if m := b.list(nil).Mails[0]; !m.Malformed || m.Size != 9000000000 || m.Received != nil || m.Flags == nil {
		t.Errorf("a big mail is listed as %+v", m)
	}
	if m := b.get("9.7.INBOX", "subject"); !m.Malformed || m.Size != 9000000000 || m.Headers["subject"][0] != "Hi" {
		t.Errorf("a big mail is %+v", m)
	}
	d = newDesk(t, func(d *desk) {
		const odd = "From: \xfc\x00 <a@example.com>\r\nSubject: =?utf-8?q?=00=FF?=\x01\xe9\r\n\r\n\x00\xff"
		d.answers["HEADER"] = "* 1 FETCH (UID 7 BODY[HEADER]<0> " + literal(odd) + ")\r\n# OK done\r\n"
		d.answers["BODY"] = "* 1 FETCH (UID 7 BODY[] " + literal(odd) + ")\r\n# OK done\r\n"
	})
	b = d.open()
	if m, n := b.list(nil).Mails[0], b.get("9.7.INBOX"); m.Subject != n.Subject || m.Size != 43 || n.Size == 43 {
		t.Errorf("bytes of all kinds are listed as %+v and are %+v", m, n)
	}
	d = newDesk(t, func(d *desk) {
		d.answers["HEADER"] = "* 1 FETCH (UID 7 BODY[HEADER]<0> NIL)\r\n# OK done\r\n"
		d.answers["BODY"] = "* 1 FETCH (UID 7 BODY[] NIL)\r\n# OK done\r\n"
	})
	b = d.open()
	if m := b.get(b.list(nil).Mails[0].ID); !m.Malformed {
		t.Errorf("no content: %+v", m)
	}
}

// Of billions of mails that a server names, no more is kept than a page has.
func TestBillionsOfMails(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk) {
		d.answers["UID SEARCH"] = "* ESEARCH (TAG \"#\") UID ALL 5:4294967295\r\n# OK done\r\n"
	})
	b := d.open()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := b.list(map[string]any{"limit": 4})
	runtime.ReadMemStats(&after)
	if len(p.Mails) != 1 || p.Next == nil || *p.Next != "9.8.INBOX" {
		t.Errorf("listed %+v", p)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
		t.Errorf("%d bytes were used for it", used)
	}
	if p := b.list(map[string]any{"after": "9.4294967294.INBOX"}); p.Next != nil {
		t.Errorf("before the highest number: %+v", p)
	}
	if p := b.list(map[string]any{"after": "9.4294967295.INBOX"}); len(p.Mails) != 0 || p.Next != nil {
		t.Errorf("behind the highest number: %+v", p)
	}
}

// A server that falls silent costs a call its time and no more, whatever it was asked.
func TestSilentServers(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"CAPABILITY", "AUTHENTICATE", "EXAMINE", "UID SEARCH", "UID FETCH 7", "HEADER"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, func(d *desk) { delete(d.answers, command) })
			b := d.open()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-d.hears
				cancel()
			}()
			now := time.Now()
			_, err := b.r.Read(ctx, connector.Call{Workflow: "w", Run: "R1", Connector: "imap", Operation: "list",
				Params: json.RawMessage(`{}`), StartedAt: now, Deadline: now.Add(time.Minute)})
			var failure *eventlog.Failure
			if !errors.As(err, &failure) || failure.Code != connector.CodeCancelled {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// Nothing is said on a connection that should be encrypted and is not.
func TestNothingIsSaidUnencrypted(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"# NO not now\r\n", "# BAD what?\r\n",
		"# OK go on\r\n* CAPABILITY AUTH=PLAIN SASL-IR\r\n"} {
		d := newDesk(t, func(d *desk) { d.answers["STARTTLS"] = answer })
		_, failure := read[page](open(t, imap.Config{Server: d.address, TLS: "starttls"}), "list", nil)
		if failure == nil {
			t.Errorf("%q: a list", answer)
		}
		for _, said := range d.said() {
			if strings.Contains(said, "AUTHENTICATE") || strings.Contains(said, "LOGIN") {
				t.Errorf("%q: it heard %s", answer, said)
			}
		}
	}
	d := newDesk(t, func(d *desk) { d.greeting = "* PREAUTH come in\r\n"; d.answers["STARTTLS"] = "# BAD no\r\n" })
	if _, failure := read[page](open(t, imap.Config{Server: d.address, TLS: "starttls"}), "list", nil); failure == nil {
		t.Error("a server that needs no login is believed unencrypted")
	}
}

// Only what reads is ever asked, and each login in the way that the server takes.
func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	for caps, login := range map[string]string{
		"AUTH=PLAIN SASL-IR": "AUTHENTICATE PLAIN AHBhd2wAcGxAbnRlZCBzM2NyZXQ=",
		"AUTH=PLAIN":         `LOGIN "pawl" "pl@nted s3cret"`, "": `LOGIN "pawl" "pl@nted s3cret"`,
	} {
		d := newDesk(t, func(d *desk) { d.answers["CAPABILITY"] = "* CAPABILITY IMAP4rev1 " + caps + "\r\n# OK done\r\n" })
		b := d.open()
		b.list(map[string]any{"since": "2026-03-01", "after": "9.3.INBOX", "mailbox": "inbox"})
		b.get("9.7.INBOX")
		var asked []string
		for _, said := range d.said() {
			if said != "CAPABILITY" && !strings.Contains(said, "RFC822.SIZE") {
				asked = append(asked, said)
			}
		}
		want := []string{login, "EXAMINE INBOX", `UID SEARCH UID 4:* SINCE "1-Mar-2026"`,
			"UID FETCH 7 (UID BODY.PEEK[HEADER]<0.262145>)", "EXAMINE INBOX", "UID FETCH 7 (UID BODY.PEEK[])"}
		if fmt.Sprintf("%q", asked) != fmt.Sprintf("%q", want) {
			t.Errorf("it was asked\n%q, want\n%q", asked, want)
		}
		for _, said := range d.said() {
			for _, changing := range []string{"STORE", "APPEND", "EXPUNGE", "COPY", "MOVE", "DELETE", "SELECT", "CLOSE",
				"BODY["} {
				if strings.Contains(said, changing) {
					t.Errorf("%s is no reading", said)
				}
			}
		}
	}
}

// Calls share connections; one that was lost meanwhile costs no call.
func TestConnections(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := d.open()
	for range 3 {
		b.list(nil)
		b.get("9.7.INBOX")
	}
	if n := d.connected(); n != 1 {
		t.Errorf("%d connections for six calls", n)
	}
	d = newDesk(t, func(d *desk) { d.then["HEADER"] = drop })
	b = d.open()
	if p := b.list(nil); len(p.Mails) != 1 {
		t.Errorf("listed %+v", p)
	}
	if m := b.get("9.7.INBOX"); m.Text != "Text" || d.connected() != 2 {
		t.Errorf("on %d connections: %+v", d.connected(), m)
	}
}

// A call that finds all connections in use was not sent.
func TestNoConnectionLeft(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk) { delete(d.answers, "EXAMINE") })
	b := open(t, imap.Config{Server: d.address, Connections: 1})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan struct{})
	now := time.Now()
	call := connector.Call{Workflow: "w", Run: "R1", Connector: "imap", Operation: "list", Params: json.RawMessage(`{}`),
		StartedAt: now, Deadline: now.Add(time.Minute)}
	go func() {
		defer close(first)
		_, _ = b.r.Read(ctx, call) // it is given up
	}()
	<-d.hears
	call.Deadline = time.Now().Add(10 * time.Millisecond)
	_, err := b.r.Read(t.Context(), call)
	var failure *eventlog.Failure
	if !errors.As(err, &failure) || failure.Class != eventlog.Transient || d.connected() != 1 {
		t.Errorf("on %d connections it ends with %v", d.connected(), err)
	}
	cancel()
	<-first
}

// A large mailbox is searched part by part. Where mails are removed meanwhile, none is passed over.
func TestLargeMailboxes(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk) {
		d.answers["EXAMINE"] = strings.Replace(d.answers["EXAMINE"], "* 1 EXISTS", "* 50000 EXISTS", 1)
		d.answers["UID SEARCH"] = "* 5 EXPUNGE\r\n* SEARCH\r\n# OK done\r\n"
	})
	if p := d.open().list(nil); len(p.Mails) != 0 || p.Next != nil {
		t.Errorf("listed %+v", p)
	}
	var searched []string
	for _, said := range d.said() {
		if strings.HasPrefix(said, "UID SEARCH") {
			searched = append(searched, said)
		}
	}
	want := []string{"UID SEARCH 1:20000 UID 1:*", "UID SEARCH 20000:40000 UID 1:*", "UID SEARCH 39999:49998 UID 1:*"}
	if fmt.Sprintf("%q", searched) != fmt.Sprintf("%q", want) {
		t.Errorf("it was asked\n%q, want\n%q", searched, want)
	}
}

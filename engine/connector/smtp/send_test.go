package smtp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"github.com/jhillyerd/enmime/v2"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/eventlog"
)

func TestAMailArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	long := strings.Repeat("a line that is far too long for a mail ", 100)
	out := d.registry(nil).Perform(t.Context(), send(map[string]any{
		"to":  []string{"Änn Öst <ann@example.net>", "bob@exämple.net", "ann@example.net"},
		"cc":  "carl@example.net",
		"bcc": []string{"dora@example.net"}, "from": "The Shop <shop@example.com>", "replyTo": "help@example.com",
		"inReplyTo": "7@example.net", "subject": "Ördér  7 \t is there " + strings.Repeat("word ", 50),
		"text": ".\n..\nGrüße\r\n" + long, "html": "<p>Grüße</p>",
		"headers": map[string]string{"List-Unsubscribe": "<https://example.com/u?x=1>", "X-Kind": "größe"},
		"attachments": []map[string]any{
			{"filename": "größe.csv", "content": "a,b\n1,2\n", "contentType": "text/csv"},
			{"filename": "x.bin", "content": base64.StdEncoding.EncodeToString([]byte("\x00\xff\r\n.\r\n")),
				"encoding": "base64"},
		},
	}))
	if out.Status != connector.Applied {
		t.Fatalf("%+v", out.Failure)
	}
	var result struct{ MessageID, Answer string }
	if err := json.Unmarshal(out.Result, &result); err != nil || result.Answer != "2.0.0 Ok: queued as 7" {
		t.Errorf("result %s, %v", out.Result, err)
	}
	var envelope []string
	for _, command := range d.said() {
		if strings.HasPrefix(command, "MAIL") || strings.HasPrefix(command, "RCPT") {
			envelope = append(envelope, command)
		}
	}
	if want := []string{"MAIL FROM:<shop@example.com>", "RCPT TO:<ann@example.net>",
		"RCPT TO:<bob@xn--exmple-cua.net>", "RCPT TO:<carl@example.net>", "RCPT TO:<dora@example.net>"}; !slices.Equal(
		envelope, want) {
		t.Errorf("the envelope is %q\nwant %q", envelope, want)
	}
	text := d.mail()
	parsed, err := enmime.NewParser(enmime.DisableCharacterDetection(true)).ReadEnvelope(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"From":     `"The Shop" <shop@example.com>`,
		"To":       `=?utf-8?q?=C3=84nn_=C3=96st?= <ann@example.net>, <bob@xn--exmple-cua.net>, <ann@example.net>`,
		"Cc":       "<carl@example.net>",
		"Bcc":      "",
		"Reply-To": "<help@example.com>", "In-Reply-To": "<7@example.net>", "References": "<7@example.net>",
		"Message-Id": "<" + result.MessageID + ">", "Date": "Mon, 02 Mar 2026 10:00:00 +0000",
		"Auto-Submitted": "auto-generated", "List-Unsubscribe": "<https://example.com/u?x=1>", "Mime-Version": "1.0",
	} {
		if got := parsed.Root.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	want := "Ördér 7 is there " + strings.TrimSpace(strings.Repeat("word ", 50))
	if got := parsed.GetHeader("Subject"); got != want {
		t.Errorf("the subject is %q", got)
	}
	if got := parsed.GetHeader("X-Kind"); got != "größe" {
		t.Errorf("X-Kind is %q", got)
	}
	if want = ".\r\n..\r\nGrüße\r\n" + long; strings.TrimSuffix(parsed.Text, "\r\n") != want {
		t.Errorf("the text is %q", parsed.Text)
	}
	if parsed.HTML != "<p>Grüße</p>" || len(parsed.Errors) > 0 || strings.Contains(text, "dora") {
		t.Errorf("html %q, errors %v", parsed.HTML, parsed.Errors)
	}
	if len(parsed.Attachments) != 2 {
		t.Fatalf("%d attachments", len(parsed.Attachments))
	}
	for i, want := range []struct{ name, kind, content string }{{"größe.csv", "text/csv", "a,b\n1,2\n"},
		{"x.bin", "application/octet-stream", "\x00\xff\r\n.\r\n"}} {
		a := parsed.Attachments[i]
		if a.FileName != want.name || a.ContentType != want.kind || string(a.Content) != want.content {
			t.Errorf("attachment %d is %q %q %q", i, a.FileName, a.ContentType, a.Content)
		}
	}
	if dials, mails := d.counts(); dials != 1 || mails != 1 {
		t.Errorf("%d connections, %d mails", dials, mails)
	}
}

// Mails have ids that no header may hold; what answers one is sent, without a word of them in its head.
func TestAMailWithAStrangeIDIsAnswered(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"<a> <b>", "a b@example.net", "ä@example.net", strings.Repeat("x", 251), "<>",
		"a@example.net>\r\nBcc: <x@example.net"} {
		d := newDesk(t, nil)
		out := d.registry(nil).Perform(t.Context(), send(map[string]any{"to": "ann@example.net", "subject": "Hello",
			"text": "Hello", "inReplyTo": id}))
		if out.Status != connector.Applied {
			t.Errorf("%q: %+v", id, out.Failure)
			continue
		}
		parsed, err := enmime.NewParser().ReadEnvelope(strings.NewReader(d.mail()))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"In-Reply-To", "References", "Bcc"} {
			if got := parsed.Root.Header.Get(name); got != "" {
				t.Errorf("%q: %s is %q", id, name, got)
			}
		}
	}
}

// The mails of one call have one Message-ID, those of another call another.
func TestTheMessageIDIsMadeOfTheKey(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := d.registry(nil)
	var ids []string
	for _, key := range []string{"K1", "K1", "K2"} {
		call := plain()
		call.Key = key
		if out := r.Perform(t.Context(), call); out.Status != connector.Applied {
			t.Fatalf("%+v", out.Failure)
		}
	}
	for _, text := range d.mails {
		parsed, err := mail.ReadMessage(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, parsed.Header.Get("Message-Id"))
		if body, err := io.ReadAll(parsed.Body); err != nil || !bytes.HasPrefix(body, []byte("Hello")) {
			t.Errorf("the body is %q, %v", body, err)
		}
	}
	if ids[0] != ids[1] || ids[0] == ids[2] || !strings.HasSuffix(ids[0], "@example.com>") {
		t.Errorf("ids %q", ids)
	}
}

// Where a mail was refused or a connection ended decides what is known of it, and each call is one connection.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		greeting string
		answers  map[string]string
		status   connector.Status
		class    eventlog.Class
		code     string
		mails    int
	}{
		{name: "taken", status: connector.Applied, mails: 1},
		{name: "taken in other words", answers: map[string]string{".": "251 will do"}, status: connector.Applied, mails: 1},
		{name: "not at home", greeting: "554 no service", status: connector.Failed, class: eventlog.Precondition,
			code: "smtp.refused"},
		{name: "busy", greeting: "421 come back", status: connector.Failed, class: eventlog.Transient, code: "smtp.refused"},
		{name: "gone at once", greeting: drop, status: connector.Failed, class: eventlog.Transient, code: "smtp.connect"},
		{name: "no SMTP", greeting: "hello", status: connector.Failed, class: eventlog.Transient, code: "smtp.connect"},
		{name: "gone after EHLO", answers: map[string]string{"EHLO": drop}, status: connector.Failed,
			class: eventlog.Transient, code: "smtp.connect"},
		{name: "sender needs a login", answers: map[string]string{"MAIL": "530 5.7.0 log in first"},
			status: connector.Failed, class: eventlog.Auth, code: "smtp.refused"},
		{name: "sender not allowed", answers: map[string]string{"MAIL": "550 5.7.60 not your address"},
			status: connector.Failed, class: eventlog.Permission, code: "smtp.refused"},
		{name: "no such recipient", answers: map[string]string{"RCPT": "550 5.1.1 nobody"}, status: connector.Failed,
			class: eventlog.Precondition, code: "smtp.refused"},
		{name: "greylisted", answers: map[string]string{"RCPT": "450 4.7.1 later"}, status: connector.Failed,
			class: eventlog.Transient, code: "smtp.refused"},
		{name: "recipient malformed", answers: map[string]string{"RCPT": "501 5.1.3 what?"}, status: connector.Failed,
			class: eventlog.Logic, code: "smtp.refused"},
		{name: "mailbox full", answers: map[string]string{"RCPT": "552 5.2.2 full"}, status: connector.Failed,
			class: eventlog.Precondition, code: "smtp.refused"},
		{name: "gone after RCPT", answers: map[string]string{"RCPT": drop}, status: connector.Failed,
			class: eventlog.Transient, code: "smtp.connect"},
		{name: "DATA refused", answers: map[string]string{"DATA": "451 no room"}, status: connector.Failed,
			class: eventlog.Transient, code: "smtp.refused"},
		{name: "DATA not understood", answers: map[string]string{"DATA": "250 ok"}, status: connector.Failed,
			class: eventlog.Internal, code: "smtp.refused"},
		{name: "gone after DATA", answers: map[string]string{"DATA": drop}, status: connector.Failed,
			class: eventlog.Transient, code: "smtp.connect"},
		{name: "gone after the end of the mail", answers: map[string]string{".": drop}, status: connector.Uncertain,
			class: eventlog.Transient, code: "smtp.answer", mails: 1},
		{name: "shutting down after the end of the mail", answers: map[string]string{".": "421 bye"},
			status: connector.Uncertain, class: eventlog.Transient, code: "smtp.answer", mails: 1},
		{name: "nonsense after the end of the mail", answers: map[string]string{".": "what?"},
			status: connector.Uncertain, class: eventlog.Transient, code: "smtp.answer", mails: 1},
		{name: "a question after the end of the mail", answers: map[string]string{".": "354 and?"},
			status: connector.Uncertain, class: eventlog.Transient, code: "smtp.answer", mails: 1},
		{name: "not taken, for now", answers: map[string]string{".": "451 4.3.0 try again"}, status: connector.Failed,
			class: eventlog.Transient, code: "smtp.refused", mails: 1},
		{name: "not taken: spam", answers: map[string]string{".": "554 5.7.1 spam"}, status: connector.Failed,
			class: eventlog.Permission, code: "smtp.refused", mails: 1},
		{name: "not taken: too big", answers: map[string]string{".": "552 5.3.4 too big"}, status: connector.Failed,
			class: eventlog.Logic, code: "smtp.refused", mails: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, func(d *desk) { d.greeting, d.answers = c.greeting, c.answers })
			out := d.registry(nil).Perform(t.Context(), plain())
			if out.Status != c.status {
				t.Fatalf("the outcome is %d %+v, want %d", out.Status, out.Failure, c.status)
			}
			if c.status != connector.Applied && (out.Failure.Class != c.class || out.Failure.Code != c.code) {
				t.Errorf("the failure is %+v, want %s, %s", out.Failure, c.class, c.code)
			}
			if c.status == connector.Uncertain && !strings.Contains(out.Failure.Message, "look for the Message-ID <pawl-") {
				t.Errorf("the message does not say how to find out: %s", out.Failure.Message)
			}
			if dials, mails := d.counts(); dials != 1 || mails != c.mails {
				t.Errorf("%d connections, %d mails, want 1 and %d", dials, mails, c.mails)
			}
		})
	}
}

// A connection that ends within a mail ends it for good: the line that would end it never leaves.
func TestAConnectionThatEndsWithinAMail(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk) { d.answers["mail"] = drop })
	out := d.registry(nil).Perform(t.Context(), send(map[string]any{"to": "ann@example.net", "subject": "Hi",
		"text": strings.Repeat("0123456789 ", 500_000)}))
	wantFailed(t, out, eventlog.Transient, "smtp.connect")
	if dials, mails := d.counts(); dials != 1 || mails != 0 {
		t.Errorf("%d connections, %d mails", dials, mails)
	}
}

// No one listens.
func TestNoServer(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := d.registry(func(c *smtp.Config) { c.Server = "127.0.0.1:1" })
	wantFailed(t, r.Perform(t.Context(), plain()), eventlog.Transient, "smtp.connect")
}

// One refused recipient refuses the mail: none of the others gets it.
func TestARefusedRecipientRefusesTheMail(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	refused := fmt.Sprint("no <nobody@example.net>: ", strings.Repeat("x", 600))
	d.wait = func(command string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if command == "RCPT" && strings.Contains(d.commands[len(d.commands)-1], "nobody") {
			d.answers = map[string]string{"RCPT": "550 5.1.1 " + refused}
		}
	}
	out := d.registry(nil).Perform(t.Context(), send(map[string]any{"to": []string{"ann@example.net",
		"nobody@example.net"}, "subject": "Hi", "text": "Hello"}))
	wantFailed(t, out, eventlog.Precondition, "smtp.refused")
	message := out.Failure.Message
	if !strings.Contains(message, "refused the recipient nobody@example.net: 550 5.1.1 no") || len(message) > 700 {
		t.Errorf("the message is %s", message)
	}
	if _, mails := d.counts(); mails != 0 {
		t.Errorf("%d mails", mails)
	}
}

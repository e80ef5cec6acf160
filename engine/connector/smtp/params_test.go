package smtp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/eventlog"
)

// What cannot be a mail is the script's fault, and no server hears of it.
func TestRefusedParameters(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := d.registry(nil)
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf("a%d@example.net", i))
	}
	type given = map[string]any
	to := func(address any) given { return given{"to": address} }
	heading := func(name, value string) given { return given{"headers": map[string]string{name: value}} }
	file := func(name, kind string) given {
		a := given{"filename": name, "content": "%", "contentType": kind}
		if kind == "base64" {
			a = given{"filename": name, "content": "%", "encoding": kind}
		}
		return given{"attachments": []any{a}}
	}
	for name, c := range map[string]struct {
		code string
		with given
	}{
		"no recipient":             {connector.CodeParams, given{"to": nil}},
		"an unknown parameter":     {connector.CodeParams, map[string]any{"body": "x"}},
		"no text":                  {"smtp.empty", given{"text": nil}},
		"no address":               {"smtp.address", to("ann")},
		"two addresses":            {"smtp.address", to("a@example.net, b@example.net")},
		"a command in a name":      {"smtp.address", given{"cc": "\"a\r\nRCPT TO:<x@example.net>\" <b@example.net>"}},
		"a quoted address":         {"smtp.address", to(`"a> SIZE=1 <b"@example.net`)},
		"an encoded line break":    {"smtp.address", to("=?utf-8?q?a=0D=0ABcc:_x@example.net?= <b@example.net>")},
		"an address literal":       {"smtp.address", to("a@[127.0.0.1]")},
		"a domain of nothing":      {"smtp.address", to("a@-x.example")},
		"a long address":           {"smtp.address", to("a@" + strings.Repeat("abcdefgh.", 30) + "example")},
		"a long local part":        {"smtp.address", to(strings.Repeat("a", 65) + "@example.net")},
		"another script":           {"smtp.address", to("жук@example.net")},
		"many recipients":          {"smtp.tooMany", to(many)},
		"a sender not allowed":     {"smtp.from", given{"from": "ceo@example.com"}},
		"a sender malformed":       {"smtp.address", given{"from": "orders"}},
		"a header in a subject":    {"smtp.header", given{"subject": "Hi\r\nBcc: x@example.net"}},
		"a newline in a subject":   {"smtp.header", given{"subject": "Hi\nBcc: x@example.net"}},
		"a header in a header":     {"smtp.header", heading("X-A", "1\r\nBcc: x@example.net")},
		"a header in a name":       {"smtp.header", heading("X-A: 1\r\nBcc", "x@example.net")},
		"a header of the envelope": {"smtp.header", heading("Bcc", "x@example.net")},
		"a header of the body":     {"smtp.header", heading("Content-Type", "text/html")},
		"a header twice":           {"smtp.header", given{"headers": map[string]string{"X-A": "1", "x-a": "2"}}},
		"a long header":            {"smtp.header", given{"headers": map[string]string{"X-A": strings.Repeat("x", 901)}}},
		"a long name of a header":  {"smtp.header", heading("X-"+strings.Repeat("a", 61), "1")},
		"a header not in ASCII":    {"smtp.header", heading("List-Id", "größe")},
		"a path as a file":         {"smtp.attachment", file("../x", "text/plain")},
		"a break in a file":        {"smtp.attachment", file("a\r\nb", "text/plain")},
		"a file of blanks":         {"smtp.attachment", file("  ", "text/plain")},
		"no base64":                {"smtp.attachment", file("x", "base64")},
		"no content type":          {"smtp.attachment", file("x", "text")},
		"a type with a break":      {"smtp.attachment", file("x", "text/plain\r\nX: y")},
		"a multipart":              {"smtp.attachment", file("x", "multipart/mixed; boundary=a")},
		"another character set":    {"smtp.message", file("x", "text/plain; charset=koi8-r")},
		"too much":                 {"smtp.tooBig", given{"text": strings.Repeat("=", 3<<20)}},
	} {
		params := map[string]any{"to": "ann@example.net", "subject": "Hi", "text": "Hello"}
		for key, value := range c.with {
			params[key] = value
			if value == nil {
				delete(params, key)
			}
		}
		out := r.Perform(t.Context(), send(params))
		if out.Status != connector.Failed || out.Failure.Class != eventlog.Logic || out.Failure.Code != c.code {
			t.Errorf("%s: the outcome is %d %+v, want failed: logic, %s", name, out.Status, out.Failure, c.code)
		}
	}
	if dials, _ := d.counts(); dials != 0 {
		t.Errorf("the server heard of %d of them", dials)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	from := []string{"a@example.com"}
	for name, c := range map[string]struct {
		config smtp.Config
		key    string // of the refused setting; empty if it is taken
	}{
		"a server":            {smtp.Config{Server: "smtp.example.com:465", From: from}, ""},
		"a login":             {smtp.Config{Server: "smtp.example.com:587", From: from, Username: "u", Password: "word"}, ""},
		"a login on loopback": {smtp.Config{Server: "[::1]:25", From: from, Username: "u", Password: "word"}, ""},
		"unencrypted":         {smtp.Config{Server: "relay.example.com:25", TLS: "none", From: from}, ""},
		"an unencrypted login": {smtp.Config{Server: "relay.example.com:25", TLS: "none", From: from, Username: "u",
			Password: "word"}, "tls"},
		"no server":   {smtp.Config{From: from}, "server"},
		"no port":     {smtp.Config{Server: "smtp.example.com", From: from}, "server"},
		"another TLS": {smtp.Config{Server: "smtp.example.com:465", TLS: "yes", From: from}, "tls"},
		"no sender":   {smtp.Config{Server: "smtp.example.com:465"}, "from"},
		"a sender that is none": {smtp.Config{Server: "smtp.example.com:465", From: []string{"a@example.com", "b"}},
			"from[1]"},
		"no password": {smtp.Config{Server: "smtp.example.com:465", From: from, Username: "u"}, "password"},
		"a password too short to blank": {smtp.Config{Server: "smtp.example.com:465", From: from, Username: "user",
			Password: "pas"}, "password"},
		"no username":           {smtp.Config{Server: "smtp.example.com:465", From: from, Password: "word"}, "username"},
		"a hello of two words":  {smtp.Config{Server: "smtp.example.com:465", From: from, Hello: "a b"}, "hello"},
		"a timeout in the past": {smtp.Config{Server: "smtp.example.com:465", From: from, Timeout: -time.Second}, "timeout"},
	} {
		made, err := smtp.New(c.config)
		if c.key == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			made.Close()
			continue
		}
		var refused *connector.SettingError
		if !errors.As(err, &refused) || refused.Key != "connectors.smtp."+c.key ||
			!strings.HasPrefix(err.Error(), refused.Key+": ") {
			t.Errorf("%s: %v, want it of %s", name, err, c.key)
		}
	}
}

// FuzzNoHeaderOfItsOwn: whatever a script gives, the mail has the headers that it is to have, in one message to the
// recipients that were named.
func FuzzNoHeaderOfItsOwn(f *testing.F) {
	f.Add("Hi", "Ann", "x", "a.txt", "Hello\r\n.\r\nQUIT\r\n", "text/plain")
	f.Add("a\r\nBcc: b@example.net", "A\"nn\\", "=?utf-8?q?=0D=0A?=", "=?utf-8?q?=0A?=", "\r\n\r\n.",
		"text/plain; x=\"\r\n\"")
	f.Add(strings.Repeat(" ", 200)+"x", strings.Repeat("ö ", 200), strings.Repeat("wort ", 170), "ä/ö",
		"\r\r\n.\n", "a/b; c*=utf-8''%0A")
	known := []string{"Attachments", "Auto-Submitted", "Content-Disposition", "Content-Transfer-Encoding", "Content-Type",
		"Date", "From", "Message-Id", "Mime-Version", "Subject", "To", "X-Given"}
	f.Fuzz(func(t *testing.T, subject, name, value, file, text, kind string) {
		d := newDesk(t, nil)
		r := d.registry(nil)
		to, err := json.Marshal(name)
		if err != nil {
			t.Skip()
		}
		params := map[string]any{"to": string(to) + " <ann@example.net>", "subject": subject, "text": text,
			"headers": map[string]string{"X-Given": value}}
		if file != "" {
			params["attachments"] = []any{map[string]any{"filename": file, "content": text, "contentType": kind}}
		}
		out := r.Perform(t.Context(), send(params))
		if out.Status == connector.Failed && (out.Failure.Class == eventlog.Logic) {
			if _, mails := d.counts(); mails != 0 {
				t.Errorf("it was refused and sent")
			}
			return
		}
		if out.Status != connector.Applied {
			t.Fatalf("%d %+v", out.Status, out.Failure)
		}
		parsed, err := mail.ReadMessage(strings.NewReader(d.mail()))
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range parsed.Header {
			if !slices.Contains(known, name) || len(values) != 1 {
				t.Errorf("the mail has %s: %q", name, values)
			}
		}
		recipients, err := parsed.Header.AddressList("To")
		if err != nil || len(recipients) != 1 || recipients[0].Address != "ann@example.net" {
			t.Errorf("it is to %v, %v", recipients, err)
		}
		commands := 0
		for _, command := range d.said() {
			if word, _, _ := strings.Cut(command, " "); slices.Contains([]string{"MAIL", "RCPT", "DATA"}, word) {
				commands++
			}
		}
		if commands != 3 {
			t.Errorf("the server heard %q", d.said())
		}
	})
}

package smtp_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/eventlog"
)

const (
	user     = "pawl"
	password = "pl@nted s3cret"
)

func login(c *smtp.Config) { c.Username, c.Password = user, password }

func TestEncryptedConnections(t *testing.T) {
	t.Parallel()
	plainLogin := "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00"+user+"\x00"+password))
	for _, mode := range []string{"implicit", "starttls"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, func(d *desk) {
				d.implicit, d.extra = mode == "implicit", []string{"STARTTLS", "AUTH LOGIN PLAIN"}
			})
			r := d.registry(func(c *smtp.Config) { c.TLS = mode; login(c) })
			if out := r.Perform(t.Context(), plain()); out.Status != connector.Applied {
				t.Fatalf("%+v", out.Failure)
			}
			said := d.said()
			encrypted := slices.Index(said, "STARTTLS")
			if !slices.Contains(said, plainLogin) || (mode == "starttls") != (encrypted >= 0) ||
				slices.Index(said, plainLogin) < encrypted {
				t.Errorf("the server heard %q", said)
			}
		})
		t.Run(mode+" with another's certificate", func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, func(d *desk) { d.implicit, d.extra = mode == "implicit", []string{"STARTTLS", "AUTH PLAIN"} })
			r := d.registry(func(c *smtp.Config) { c.TLS, c.RootCAs = mode, nil; login(c) })
			out := r.Perform(t.Context(), plain())
			wantFailed(t, out, eventlog.Transient, "smtp.connect")
			if !strings.Contains(out.Failure.Message, "certificate") {
				t.Errorf("the message is %s", out.Failure.Message)
			}
			if said := strings.Join(d.said(), "\n"); strings.Contains(said, "AUTH") || strings.Contains(said, "MAIL") {
				t.Errorf("the server heard %s", said)
			}
		})
	}
}

// A server that offers no encryption, or a machine on the way that hides the offer, gets neither password nor mail.
func TestNothingIsSaidUnencrypted(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "454 not now"} {
		d := newDesk(t, func(d *desk) {
			d.extra = []string{"AUTH PLAIN"}
			if answer != "" {
				d.extra, d.answers["STARTTLS"] = append(d.extra, "STARTTLS"), answer
			}
		})
		r := d.registry(func(c *smtp.Config) { c.TLS = "starttls"; login(c) })
		out := r.Perform(t.Context(), plain())
		if out.Status != connector.Failed || out.Failure.Class != eventlog.Transient {
			t.Errorf("%q: the outcome is %d %+v", answer, out.Status, out.Failure)
		}
		if said := strings.Join(d.said(), "\n"); strings.Contains(said, "AUTH") || strings.Contains(said, "MAIL") {
			t.Errorf("%q: the server heard %s", answer, said)
		}
	}
}

func TestLogins(t *testing.T) {
	t.Parallel()
	encoded := base64.StdEncoding.EncodeToString
	for _, c := range []struct {
		name    string
		offered string
		answers map[string]string
		class   eventlog.Class // of the failure; empty if the mail is sent
		code    string
	}{
		{name: "LOGIN alone", offered: "AUTH LOGIN"},
		{name: "none", offered: "8BITMIME", class: eventlog.Auth, code: "smtp.auth"},
		{name: "another", offered: "AUTH GSSAPI", class: eventlog.Auth, code: "smtp.auth"},
		{name: "refused", offered: "AUTH PLAIN", answers: map[string]string{"AUTH": "535 5.7.8 no: " + password + ", or " +
			encoded([]byte("\x00"+user+"\x00"+password))}, class: eventlog.Auth, code: "smtp.refused"},
		{name: "not now", offered: "AUTH PLAIN", answers: map[string]string{"AUTH": "454 4.7.0 later"},
			class: eventlog.Transient, code: "smtp.refused"},
		{name: "password repeated at the end", offered: "AUTH PLAIN",
			answers: map[string]string{".": "250 thanks, " + password}},
		{name: "password repeated in a doubt", offered: "AUTH PLAIN", answers: map[string]string{".": "421 bye " + password}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, func(d *desk) {
				d.extra = []string{c.offered}
				for word, answer := range c.answers {
					d.answers[word] = answer
				}
			})
			out := d.registry(login).Perform(t.Context(), plain())
			shown := fmt.Sprintf("%s %+v", out.Result, out.Failure)
			if strings.Contains(shown, "s3cret") || strings.Contains(shown, encoded([]byte(password))[4:14]) {
				t.Errorf("the password shows: %s", shown)
			}
			if len(c.answers) > 0 && c.class != eventlog.Transient && !strings.Contains(shown, "***") {
				t.Errorf("nothing was blanked out, so the server repeated no password: %s", shown)
			}
			if c.class != "" {
				wantFailed(t, out, c.class, c.code)
				if _, mails := d.counts(); mails != 0 {
					t.Errorf("%d mails", mails)
				}
				return
			}
			if _, mails := d.counts(); mails != 1 {
				t.Errorf("%d mails, %+v", mails, out.Failure)
			}
			if c.offered == "AUTH LOGIN" && !slices.Contains(d.said(), encoded([]byte(password))) {
				t.Errorf("the server heard %q", d.said())
			}
		})
	}
}

// Whatever was filled in from outside the configuration is blanked out, not the password alone.
func TestExpandedValuesAreBlankedOut(t *testing.T) {
	t.Parallel()
	const account = "apikey-7d1f"
	d := newDesk(t, func(d *desk) {
		d.extra, d.answers["AUTH"] = []string{"AUTH PLAIN"}, "535 5.7.8 no "+account+" here"
	})
	r := d.registry(func(c *smtp.Config) {
		c.Username, c.Password, c.Secrets = account, password, []string{account, password}
	})
	out := r.Perform(t.Context(), plain())
	wantFailed(t, out, eventlog.Auth, "smtp.refused")
	if strings.Contains(out.Failure.Message, account) || !strings.Contains(out.Failure.Message, "no *** here") {
		t.Errorf("the message is %s", out.Failure.Message)
	}
}

// A server that never stops sending is given up.
func TestAnEndlessAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk) {
		d.answers["EHLO"] = strings.TrimSuffix(strings.Repeat("250-"+strings.Repeat("x", 996)+"\n", 1100), "\n")
	})
	out := d.registry(nil).Perform(t.Context(), plain())
	wantFailed(t, out, eventlog.Transient, "smtp.connect")
	if !strings.Contains(out.Failure.Message, "more than 1 MiB") {
		t.Errorf("the message is %s", out.Failure.Message)
	}
}

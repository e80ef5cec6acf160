package smtp_test

import (
	"bufio"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/eventlog"
)

// python is an interpreter that has aiosmtpd.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), name, "-c", "import aiosmtpd").Run() == nil {
			return name
		}
	}
	t.Skip("needs aiosmtpd: a mail server that is not of this module")
	return ""
}

// process is a mail server that runs as a program.
type process struct {
	maildir, address string
	roots            *x509.CertPool
	ended            chan struct{}
}

func newProcess(t *testing.T, mode string) *process {
	t.Helper()
	interpreter := python(t)
	dir := t.TempDir()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	certificate := certified.TLS.Certificates[0]
	p := &process{maildir: filepath.Join(dir, "mails"), roots: x509.NewCertPool(), ended: make(chan struct{})}
	p.roots.AddCert(certified.Certificate())
	certified.Close()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	for i, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]},
		{Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(paths[i], pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(interpreter, filepath.Join("testdata", "server.py"), p.maildir, paths[0], paths[1], mode)
	command.Env = append(command.Environ(), "PASSWORD="+password)
	command.Stderr = t.Output()
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Errorf("the server did not start: %v", err)
	}
	p.address = "127.0.0.1:" + strings.TrimSpace(port)
	go func() {
		_ = command.Wait() // one test kills it
		close(p.ended)
	}()
	t.Cleanup(func() {
		in.Close()
		<-p.ended
	})
	return p
}

func (p *process) registry(t *testing.T, mode, password string) *connector.Registry {
	t.Helper()
	c, err := smtp.New(smtp.Config{Server: p.address, TLS: mode, Username: user, Password: password,
		From: []string{"orders@example.com"}, RootCAs: p.roots})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r, err := connector.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mails are those that the server has taken.
func (p *process) mails(t *testing.T) (mails []*mail.Message) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(p.maildir, "new", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := mail.ReadMessage(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		mails = append(mails, m)
	}
	return mails
}

// A mail server that is no part of this module takes a mail after a login on an encrypted connection, refuses a wrong
// password, and is killed when it has taken a mail and not yet said so.
func TestAServerOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"implicit", "starttls"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, mode)
			r := p.registry(t, mode, password)
			call := func(subject string) connector.Call {
				call := send(map[string]any{"to": "Ann <ann@example.net>", "bcc": "bob@example.net", "subject": subject,
					"text": "Grüße\n.\n"})
				call.Key, call.Deadline = subject, time.Now().Add(time.Minute)
				return call
			}
			wantFailed(t, p.registry(t, mode, "another").Perform(t.Context(), call("no")), eventlog.Auth, "smtp.refused")
			if out := r.Perform(t.Context(), call("Order 7")); out.Status != connector.Applied {
				t.Fatalf("%d %+v", out.Status, out.Failure)
			}
			out := r.Perform(t.Context(), call("die"))
			if out.Status != connector.Uncertain || out.Failure.Code != "smtp.answer" {
				t.Fatalf("the server was killed: %d %+v, want uncertain", out.Status, out.Failure)
			}
			<-p.ended
			wantFailed(t, r.Perform(t.Context(), call("after")), eventlog.Transient, "smtp.connect")

			mails := p.mails(t)
			if len(mails) != 2 {
				t.Fatalf("%d mails, want 2: the one that was answered and the one that was not", len(mails))
			}
			ids := map[string]bool{}
			for _, m := range mails {
				ids[m.Header.Get("Message-Id")] = true
				if got := m.Header.Get("X-RcptTo"); got != "ann@example.net, bob@example.net" {
					t.Errorf("it went to %s", got)
				}
				if m.Header.Get("To") != `"Ann" <ann@example.net>` || m.Header.Get("Bcc") != "" {
					t.Errorf("the headers are %v", m.Header)
				}
			}
			_, unknown, _ := strings.Cut(out.Failure.Message, "look for the Message-ID ")
			if len(ids) != 2 || !ids[strings.TrimSuffix(unknown, "\n")] {
				t.Errorf("the mails are %v; the unknown one is said to be %s", ids, unknown)
			}
		})
	}
}

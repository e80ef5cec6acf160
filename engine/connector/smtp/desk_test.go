package smtp_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/smtp"
	"github.com/pawl-run/pawl/eventlog"
)

// desk is a mail server on the bare connection, which answers as a test says and counts all that arrives.
type desk struct {
	t        *testing.T
	address  string
	roots    *x509.CertPool
	implicit bool
	tls      *tls.Config

	// greeting and answers replace the usual reply to a command, by its first word: "." is the end of a mail. drop closes
	// the connection instead. wait is waited for before the reply is given.
	greeting string
	answers  map[string]string
	extra    []string // lines of the answer to EHLO
	wait     func(command string)
	mute     func() // is called instead of reading a mail
	released chan struct{}

	mu       sync.Mutex
	dials    int
	commands []string
	mails    []string // those that were ended
	broken   []string // those that were not
}

const drop = "drop"

func newDesk(t *testing.T, set func(*desk)) *desk {
	t.Helper()
	d := &desk{t: t, answers: map[string]string{}, released: make(chan struct{})}
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	d.roots = x509.NewCertPool()
	d.roots.AddCert(certified.Certificate())
	d.tls = &tls.Config{Certificates: certified.TLS.Certificates}
	certified.Close()
	if set != nil {
		set(d)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.address = listener.Addr().String()
	var serving sync.WaitGroup
	open := map[net.Conn]bool{}
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			d.mu.Lock()
			d.dials++
			open[c] = true
			d.mu.Unlock()
			serving.Go(func() { d.serve(c) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		close(d.released)
		d.mu.Lock()
		for c := range open {
			c.Close()
		}
		d.mu.Unlock()
		serving.Wait()
	})
	return d
}

func (d *desk) serve(c net.Conn) {
	defer func() { c.Close() }()
	if d.implicit {
		c = tls.Server(c, d.tls)
	}
	in := bufio.NewReader(c)
	say := func(text string) bool {
		if text == drop {
			return false
		}
		_, err := fmt.Fprintf(c, "%s\r\n", strings.ReplaceAll(text, "\n", "\r\n"))
		return err == nil
	}
	if greeting := d.greeting; greeting == "" && !say("220 desk") || greeting != "" && !say(greeting) {
		return
	}
	login := false // a password is expected
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		text = strings.TrimSuffix(text, "\r\n")
		d.mu.Lock()
		d.commands = append(d.commands, text)
		d.mu.Unlock()
		word, _, _ := strings.Cut(strings.ToUpper(text), " ")
		word, _, _ = strings.Cut(word, ":")
		if login {
			word, login = "LOGIN", false
		}
		if d.wait != nil {
			d.wait(word)
		}
		reply, told := d.answers[word]
		if !told {
			reply = map[string]string{"DATA": "354 go on", "QUIT": "221 bye", "STARTTLS": "220 go on",
				"AUTH": "235 in", "LOGIN": "235 in"}[word]
		}
		switch {
		case !told && word == "EHLO":
			lines := append([]string{"desk"}, d.extra...)
			for i, line := range lines {
				separator := "-"
				if i == len(lines)-1 {
					separator = " "
				}
				lines[i] = "250" + separator + line
			}
			reply = strings.Join(lines, "\n")
		case !told && strings.HasPrefix(text, "AUTH LOGIN "):
			reply, login = "334 "+base64.StdEncoding.EncodeToString([]byte("Password:")), true
		case reply == "":
			reply = "250 ok"
		}
		if !say(reply) || word == "QUIT" {
			return
		}
		switch {
		case word == "STARTTLS" && strings.HasPrefix(reply, "220"):
			c = tls.Server(c, d.tls)
			in = bufio.NewReader(c)
		case word == "DATA" && strings.HasPrefix(reply, "354"):
			if d.mute != nil {
				d.mute()
				<-d.released
				return
			}
			if !d.take(in, say) {
				return
			}
		}
	}
}

// take reads a mail and answers its end.
func (d *desk) take(in *bufio.Reader, say func(string) bool) bool {
	var mail strings.Builder
	for {
		text, err := in.ReadString('\n')
		if text == ".\r\n" {
			d.mu.Lock()
			d.mails = append(d.mails, mail.String())
			d.mu.Unlock()
			if d.wait != nil {
				d.wait(".")
			}
			reply := d.answers["."]
			if reply == "" {
				reply = "250 2.0.0 Ok: queued as 7"
			}
			return say(reply)
		}
		mail.WriteString(strings.TrimPrefix(text, ".")) // a line with a dot has got another
		if err != nil {
			d.mu.Lock()
			d.broken = append(d.broken, mail.String())
			d.mu.Unlock()
			return false
		}
		if d.answers["mail"] == drop && mail.Len() > 0 {
			return false
		}
	}
}

// hold waits until it is told to go on, or until the test is over.
func (d *desk) hold(until chan struct{}) {
	select {
	case <-until:
	case <-d.released:
	}
}

// counts are how many connections and how many whole mails there were.
func (d *desk) counts() (dials, mails int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dials, len(d.mails)
}

func (d *desk) mail() string {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.mails) != 1 {
		d.t.Fatalf("%d mails arrived, want one", len(d.mails))
	}
	return d.mails[0]
}

// said are the commands that came.
func (d *desk) said() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.commands...)
}

// registry has an smtp connector that sends to the desk.
func (d *desk) registry(set func(*smtp.Config)) *connector.Registry {
	d.t.Helper()
	config := smtp.Config{Server: d.address, From: []string{"Orders <orders@example.com>", "shop@example.com"},
		RootCAs: d.roots}
	if set != nil {
		set(&config)
	}
	c, err := smtp.New(config)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	r, err := connector.NewRegistry(c)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

var started = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

func send(params map[string]any) connector.Call {
	text, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	return connector.Call{
		Workflow: "w", Run: "R1", Connector: "smtp", Operation: "send", Key: "K1", Params: text,
		StartedAt: started, Deadline: time.Now().Add(time.Minute),
	}
}

// plain is a mail with nothing special.
func plain() connector.Call {
	return send(map[string]any{"to": "ann@example.net", "subject": "Hi", "text": "Hello"})
}

func wantFailed(t *testing.T, out connector.Outcome, class eventlog.Class, code string) {
	t.Helper()
	if out.Status != connector.Failed || out.Failure.Class != class || out.Failure.Code != code {
		t.Fatalf("the outcome is %d %+v, want failed: %s, %s", out.Status, out.Failure, class, code)
	}
}

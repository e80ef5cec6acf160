package main

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// mailing sends a mail for each order, and notes what became of it.
const mailing = `export default Keep.workflow({
  name: "mails", topics: { orders: {}, sent: {} },
  consumers: { send: Keep.consumer({
    subscribe: ["orders"],
    async prepare(ctx) {
      const [order] = await ctx.peek("orders", { limit: 1 });
      if (!order) return { reservations: [], data: null };
      return { reservations: [{ topic: "orders", ids: [order.id] }], data: order.id, ui: { title: "Mail " + order.id } };
    },
    async mutate(ctx, { data }) {
      await ctx.smtp.send({ to: "ann@example.net", subject: "Order " + data, text: "Two boxes." });
    },
    async next(ctx, { data }, result) {
      if (data) await ctx.publish("sent", { messageId: data, title: JSON.stringify(result) });
    },
  }) },
});
`

// mailbox is a mail server that takes mails after a login.
type mailbox struct {
	password string

	mu     sync.Mutex
	mails  []*mail.Message
	silent bool // it takes the next mail and closes the connection without an answer
}

func newMailbox(t *testing.T, password string) (box *mailbox, address string) {
	t.Helper()
	box = &mailbox{password: password}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &mailSession{box: box, conn: c}, nil
	}))
	server.AllowInsecureAuth = true // it is on loopback
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return box, listener.Addr().String()
}

// subjects are those of the mails that were taken, and their ids.
func (b *mailbox) subjects(t *testing.T) (subjects, ids []string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.mails {
		subjects, ids = append(subjects, m.Header.Get("Subject")), append(ids, m.Header.Get("Message-Id"))
	}
	return subjects, ids
}

type mailSession struct {
	box  *mailbox
	conn *smtp.Conn
	in   bool
}

func (s *mailSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, username, password string) error {
		if username != "orders" || password != s.box.password {
			return errors.New("wrong password: " + password)
		}
		s.in = true
		return nil
	}), nil
}

func (s *mailSession) Mail(string, *smtp.MailOptions) error {
	if !s.in {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *mailSession) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (s *mailSession) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, m.Body); err != nil {
		return err
	}
	s.box.mu.Lock()
	s.box.mails = append(s.box.mails, m)
	silent := s.box.silent
	s.box.silent = false
	s.box.mu.Unlock()
	if silent {
		return s.conn.Conn().Close()
	}
	return nil
}

func (s *mailSession) Reset() {}

func (s *mailSession) Logout() error { return nil }

// kill ends the engine at once.
func (d *daemon) kill() {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		d.t.Fatal(err)
	}
	d.exit()
}

// A mail that waits for a person's word outlives the engine, and is sent once when it is given. One whose answer is
// lost is sent again by no engine: a person finds it by its Message-ID.
func TestMailsOutliveTheEngine(t *testing.T) {
	long(t)
	t.Parallel()
	const password = "planted-s3cret"
	box, address := newMailbox(t, password)
	dir := place(t, map[string]string{
		"mails.ts": mailing, "password": password + "\n",
		"pawl.yaml": "data: data\nconnectors:\n  smtp:\n    server: " + address + "\n    username: orders\n" +
			"    password: ${file:password}\n    from: [Orders <orders@example.com>]\n",
	})
	up := []string{"up", "mails.ts", "--grant", "smtp.send=ask"}
	p := startDaemon(t, dir, "pawl", up...)
	printed := mustRun(t, dir, 0, "pawl", "push", "mails", "orders", "--id", "7", "{}")
	p.await(`waits for approval`)
	p.kill()
	printed += p.text()

	p = startDaemon(t, dir, "pawl", up...)
	approve := []string{"-c", `pawl approve "$(pawl mutations list --status awaiting_approval | cut -f1)"`}
	if subjects, _ := box.subjects(t); len(subjects) != 0 {
		t.Fatalf("sent without approval: %q", subjects)
	}
	printed += mustRun(t, dir, 0, "sh", approve...)
	p.atRest("mails")
	if subjects, _ := box.subjects(t); strings.Join(subjects, ", ") != "Order 7" {
		t.Errorf("the server has %q", subjects)
	}
	shown := mustRun(t, dir, 0, "pawl", "events", "show", "mails", "sent", "7")
	if !strings.Contains(shown, "applied") || !strings.Contains(shown, "pawl-") {
		t.Errorf("next noted %s", shown)
	}

	box.mu.Lock()
	box.silent = true
	box.mu.Unlock()
	printed += mustRun(t, dir, 0, "pawl", "push", "mails", "orders", "--id", "8", "{}")
	p.await(`Mail 8 waits for approval`)
	printed += mustRun(t, dir, 0, "sh", approve...)
	p.await(`not known whether`)
	p.kill()
	printed += p.text()
	p = startDaemon(t, dir, "pawl", up...)
	p.atRest("mails")
	why := mustRun(t, dir, 3, "pawl", "why", "mails")
	listed := mustRun(t, dir, 0, "pawl", "mutations", "list", "--json")
	subjects, ids := box.subjects(t)
	if strings.Join(subjects, ", ") != "Order 7, Order 8" {
		t.Errorf("the server has %q", subjects)
	}
	id := regexp.MustCompile(`look for the Message-ID (<|\\u003c)(pawl-\w+@example\.com)`).FindStringSubmatch(listed)
	if id == nil || "<"+id[2]+">" != ids[1] {
		t.Errorf("the mail %s is to be looked for as %q\n%s", ids[1], id, listed)
	}
	printed += mustRun(t, dir, 0, "sh", "-c",
		`pawl resolve "$(pawl mutations list --status indeterminate | cut -f1)" --happened`)
	p.atRest("mails")
	mustRun(t, dir, 0, "pawl", "events", "show", "mails", "sent", "8")
	p.stop()
	if subjects, _ := box.subjects(t); len(subjects) != 2 {
		t.Errorf("the server has %q", subjects)
	}
	wantNoSecret(t, "what was printed", []byte(printed+p.text()+why+listed), password)
	err := filepath.WalkDir(filepath.Join(dir, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		wantNoSecret(t, path, content, password)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

package embeddednats_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/embeddednats"
)

// addTools gives tools users of their own and lets them in.
func (s *site) addTools(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if _, err := embeddednats.AddTool(s.dir, name, s.server.ClientURL()); err != nil {
			s.t.Fatal(err)
		}
	}
	s.setTools()
}

func (s *site) setTools() {
	s.t.Helper()
	tools, err := embeddednats.Tools(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.server.SetTools(tools); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) calls(tool string) *nats.Conn {
	s.t.Helper()
	return opened(s.t, func(o ...nats.Option) (*nats.Conn, error) { return s.server.ConnectTool(tool, o...) })
}

// answers makes the user answer with its own name, whatever it may be asked.
func (u user) answers(name string, subjects ...string) {
	u.t.Helper()
	for _, subject := range subjects {
		if _, err := u.QueueSubscribe(subject, "q", func(m *nats.Msg) { _ = m.Respond([]byte(name)) }); err != nil {
			u.t.Fatal(err)
		}
	}
	if err := u.Flush(); err != nil {
		u.t.Fatal(err)
	}
}

func TestAToolServesAndAnswersOnly(t *testing.T) {
	s := newSite(t)
	s.addTools("mail", "fax")
	u := s.as("tools/mail")
	served := []string{"pawl.tool.mail.send", "$SRV.PING", "$SRV.INFO", "$SRV.STATS", "$SRV.INFO.mail",
		"$SRV.PING.mail.ID1"}
	u.answers("mail", served...)
	calls := s.calls("mail")
	for _, subject := range served {
		if m, err := calls.Request(subject, nil, 10*time.Second); err != nil || string(m.Data) != "mail" {
			t.Errorf("%s: %s, %v", subject, text(m), err)
		}
	}
	u.mayNotPublish(everywhere...)
	u.mayNotSubscribe(">", "pawl.>", "pawl.log.>", "pawl.in.>", "pawl.api.>", "_INBOX.>", "_INBOX_pawl.>", "$JS.API.>",
		"$KV.>", "$SYS.>", "$SRV.>", "$SRV.INFO.fax", "$SRV.INFO.fax.ID1")
	u.mayNotSubscribe("pawl.tool.mail.>", "pawl.tool.mail.send") // without a queue group
	for _, subject := range []string{"pawl.tool.fax.send", "pawl.tool.>", "pawl.tool.*.send"} {
		if _, err := u.QueueSubscribeSync(subject, "q"); err != nil {
			t.Fatal(err)
		}
		u.refused(subject)
	}
}

// A tool neither sees nor answers what is for another, and the tools that share a user see nothing of both.
func TestToolsDoNotMeet(t *testing.T) {
	s := newSite(t)
	s.addTools("mail", "fax")
	all := []string{"pawl.tool.mail.send", "$SRV.INFO", "$SRV.INFO.mail", "pawl.tool.fax.send", "$SRV.INFO.fax"}
	spy := s.as(embeddednats.Connector)
	spy.answers("spy", all...)
	heard, err := spy.QueueSubscribeSync("pawl.tool.>", "another")
	if err != nil {
		t.Fatal(err)
	}
	if err := spy.Flush(); err != nil {
		t.Fatal(err)
	}
	s.as("tools/fax").answers("fax", all...)
	calls := s.calls("mail")
	for _, subject := range []string{"pawl.tool.mail.send", "$SRV.INFO", "$SRV.INFO.mail"} {
		if m, err := calls.Request(subject, []byte("private"), 10*time.Second); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s is answered by %s, %v", subject, text(m), err)
		}
	}
	s.as("tools/mail").answers("mail", all...)
	for _, subject := range []string{"pawl.tool.mail.send", "$SRV.INFO", "$SRV.INFO.mail"} {
		answers, err := calls.SubscribeSync(calls.NewInbox())
		if err != nil {
			t.Fatal(err)
		}
		if err := calls.PublishRequest(subject, answers.Subject, nil); err != nil {
			t.Fatal(err)
		}
		// The line is ordered: what comes after this has been sent by another.
		if m, err := answers.NextMsg(10 * time.Second); err != nil || string(m.Data) != "mail" {
			t.Errorf("%s is answered by %s, %v", subject, text(m), err)
		}
		// A forged answer goes to an inbox of the forger's own account.
		for _, forger := range []string{"tools/fax", embeddednats.Connector, embeddednats.Operator} {
			u := s.as(forger)
			if err := u.Publish(answers.Subject, []byte("forged")); err != nil {
				t.Fatal(err)
			}
			if err := u.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := calls.Flush(); err != nil {
			t.Fatal(err)
		}
		if n, _, err := answers.Pending(); err != nil || n != 0 {
			t.Errorf("%s has %d more answers, %v", subject, n, err)
		}
	}
	if n, _, err := heard.Pending(); err != nil || n != 0 {
		t.Errorf("the shared user heard %d requests of tools with a user of their own, %v", n, err)
	}
}

// A user that is taken away is out at once; a new one of the same tool has another password.
func TestAToolIsRemoved(t *testing.T) {
	s := newSite(t)
	s.addTools("mail", "fax")
	file := embeddednats.ToolURLFile(s.dir, "mail")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 ||
		!strings.HasPrefix(string(before), "nats://tool-mail:") {
		t.Errorf("%s: %v, %v", before, info, err)
	}
	connect := func(address string) (*nats.Conn, chan struct{}, error) {
		closed := make(chan struct{})
		nc, err := nats.Connect(strings.TrimSpace(address), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) {
			close(closed)
		}))
		if err == nil {
			t.Cleanup(nc.Close)
		}
		return nc, closed, err
	}
	_, closed, err := connect(string(before))
	if err != nil {
		t.Fatal(err)
	}
	other := s.as("tools/fax")
	if n, err := s.server.Connected("mail"); n != 1 || err != nil {
		t.Errorf("%d connections, %v", n, err)
	}
	if _, err := embeddednats.AddTool(s.dir, "mail", s.server.ClientURL()); !errors.Is(err, embeddednats.ErrToolExists) {
		t.Errorf("added twice: %v", err)
	}
	if err := embeddednats.RemoveTool(s.dir, "mail"); err != nil {
		t.Fatal(err)
	}
	s.setTools()
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Error("still connected")
	}
	if _, _, err := connect(string(before)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("let in again: %v", err)
	}
	if err := embeddednats.RemoveTool(s.dir, "mail"); !errors.Is(err, embeddednats.ErrNoTool) {
		t.Errorf("removed twice: %v", err)
	}
	s.addTools("mail")
	if _, _, err := connect(string(before)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("the old password is good again: %v", err)
	}
	s.as("tools/mail")
	if !other.IsConnected() || other.Reconnects != 0 {
		t.Error("another tool was thrown out too")
	}
}

func TestToolNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", "a.b", "../x", "1a", "a-b", "a b", "*", ">", strings.Repeat("a", 200)} {
		if _, err := embeddednats.AddTool(dir, name, "nats://127.0.0.1:4222"); err == nil {
			t.Errorf("%q is taken", name)
		}
		if err := embeddednats.RemoveTool(dir, name); err == nil {
			t.Errorf("%q is removed", name)
		}
	}
	if _, err := embeddednats.AddTool(dir, "mail", "nowhere"); err == nil {
		t.Error("an address that is none is taken")
	}
}

// A file that cannot be read costs its own tool its access, and no other.
func TestADamagedToolFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := embeddednats.AddTool(dir, "mail", "nats://127.0.0.1:4222"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(embeddednats.ToolURLFile(dir, "fax"), []byte("nats://tool-mail:secret@127.0.0.1"),
		0o600); err != nil {
		t.Fatal(err)
	}
	tools, err := embeddednats.Tools(dir)
	if len(tools) != 1 || tools[0].Name != "mail" || err == nil || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "fax.url") {
		t.Errorf("%v, %v", tools, err)
	}
}

// The users of tools keep their passwords over a restart, and learn the new address.
func TestToolURLsStay(t *testing.T) {
	s := newSite(t)
	s.addTools("mail")
	before, err := os.ReadFile(embeddednats.ToolURLFile(s.dir, "mail"))
	if err != nil {
		t.Fatal(err)
	}
	s.engine.Close()
	s.server.Shutdown()
	s.serve()
	s.setTools()
	after, err := os.ReadFile(embeddednats.ToolURLFile(s.dir, "mail"))
	if err != nil {
		t.Fatal(err)
	}
	password, _, _ := strings.Cut(string(before), "@")
	if want := password + "@" +
		strings.TrimPrefix(s.server.ClientURL(), "nats://"); strings.TrimSpace(string(after)) != want {
		t.Errorf("%s, want %s", after, want)
	}
	s.as(filepath.Join("tools", "mail"))
}

// The engine's own users are not for the network, even with their password, which never leaves the process.
func TestEngineUsersAreRefusedOutside(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"pawl", "pawl-services", "pawl-gate", "pawl-calls", "", "tool-", "tool-mail"} {
		nc, err := nats.Connect(s.server.ClientURL(), nats.UserInfo(name, ""))
		if err == nil {
			nc.Close()
			t.Errorf("%q is let in", name)
		}
	}
}

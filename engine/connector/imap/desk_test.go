package imap_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/engine/connector/imap"
)

// desk is a mail server that answers as a test wants. Its mailbox has one mail, number 7.
type desk struct {
	*testing.T
	address string
	// greeting is what it begins with.
	greeting string
	// answers are what it answers to commands that begin so, behind which it goes on; # stands for the command's tag.
	answers map[string]string
	// then is done after an answer, with the connection: it may write more, and ends the connection when it returns.
	then map[string]func(net.Conn)

	mu          sync.Mutex
	heard       []string
	connections int
	// hears has a value when a command has come that nothing answers.
	hears chan string
}

const head = "From: a@example.com\r\nSubject: Hi\r\n\r\n"

// newDesk makes a desk that behaves; change it before its first connection.
func newDesk(t *testing.T, change func(*desk)) *desk {
	t.Helper()
	d := &desk{T: t, greeting: "* OK ready\r\n", then: map[string]func(net.Conn){}, hears: make(chan string, 16),
		answers: map[string]string{
			"CAPABILITY":   "* CAPABILITY IMAP4rev1 AUTH=PLAIN SASL-IR\r\n# OK done\r\n",
			"AUTHENTICATE": "# OK in\r\n", "LOGIN": "# OK in\r\n",
			"EXAMINE":     "* 1 EXISTS\r\n* OK [UIDVALIDITY 9] valid\r\n# OK [READ-ONLY] open\r\n",
			"UID SEARCH":  "* SEARCH 7\r\n# OK done\r\n",
			"UID FETCH 7": "* 1 FETCH (UID 7 " + described + ")\r\n# OK done\r\n",
			"HEADER":      "* 1 FETCH (UID 7 BODY[HEADER]<0> " + literal(head) + ")\r\n# OK done\r\n",
			"BODY":        "* 1 FETCH (UID 7 BODY[] " + literal(head+"Text") + ")\r\n# OK done\r\n",
		}}
	if change != nil {
		change(d)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.address = listener.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				d.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return d
}

const described = `RFC822.SIZE 43 FLAGS (\Seen) INTERNALDATE "02-Mar-2026 10:00:00 +0000"`

func literal(text string) string { return fmt.Sprintf("{%d}\r\n%s", len(text), text) }

func (d *desk) serve(conn net.Conn) {
	d.mu.Lock()
	d.connections++
	d.mu.Unlock()
	if _, err := io.WriteString(conn, d.greeting); err != nil {
		return
	}
	if then := d.then[""]; then != nil {
		then(conn)
		return
	}
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		tag, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		d.mu.Lock()
		d.heard = append(d.heard, command)
		d.mu.Unlock()
		name := nameOf(command)
		answer, known := d.answers[name]
		if !known {
			d.hears <- command
			continue
		}
		if _, err := io.WriteString(conn, strings.ReplaceAll(answer, "#", tag)); err != nil {
			return
		}
		if then := d.then[name]; then != nil {
			then(conn)
			return
		}
	}
}

// nameOf is what a command is called in a desk's answers.
func nameOf(command string) string {
	switch {
	case strings.Contains(command, "BODY.PEEK[HEADER]"):
		return "HEADER"
	case strings.Contains(command, "BODY.PEEK[]"):
		return "BODY"
	case strings.HasPrefix(command, "UID FETCH"):
		return "UID FETCH 7"
	case strings.HasPrefix(command, "UID "):
		return "UID SEARCH"
	}
	name, _, _ := strings.Cut(command, " ")
	return name
}

// said is what was asked so far.
func (d *desk) said() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.heard...)
}

func (d *desk) connected() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.connections
}

func (d *desk) open() *box { return open(d.T, imap.Config{Server: d.address}) }

// endless writes a text until the other side has enough.
func endless(text string) func(net.Conn) {
	many := []byte(strings.Repeat(text, 1+64<<10/len(text)))
	return func(conn net.Conn) {
		for {
			if _, err := conn.Write(many); err != nil {
				return
			}
		}
	}
}

// drop closes the connection.
func drop(net.Conn) {}

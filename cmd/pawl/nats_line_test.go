package main

import (
	"bytes"
	"net"
	"sync"
	"testing"
)

// cutLine is a TCP proxy to the server that breaks when a request passes. Nothing goes through then,
// in either direction, until it is restored; what was on the line arrives or is lost.
type cutLine struct {
	listen net.Listener
	server string
	mark   []byte
	// cut is closed when the line breaks.
	cut chan struct{}

	mu     sync.Mutex
	broken bool
	done   bool
	whole  *sync.Cond
	open   []net.Conn
}

func newCutLine(t *testing.T, server, mark string) *cutLine {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutLine{listen: l, server: server, mark: []byte(mark), cut: make(chan struct{})}
	c.whole = sync.NewCond(&c.mu)
	go c.accept()
	t.Cleanup(func() { _ = l.Close(); c.restore(true) })
	return c
}

func (c *cutLine) accept() {
	for {
		tool, err := c.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.server)
		if err != nil {
			_ = tool.Close()
			continue
		}
		c.mu.Lock()
		c.open = append(c.open, tool, server)
		c.mu.Unlock()
		go c.carry(tool, server, true)
		go c.carry(server, tool, false)
	}
}

func (c *cutLine) carry(to, from net.Conn, down bool) {
	defer func() { _ = to.Close(); _ = from.Close() }()
	var tail []byte // a mark may come in two pieces
	for buffer := make([]byte, 64<<10); ; {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		c.mu.Lock()
		if tail = append(tail, buffer[:n]...); down && !c.done && bytes.Contains(tail, c.mark) {
			c.broken, c.done = true, true
			close(c.cut)
		}
		tail = tail[max(0, len(tail)-len(c.mark)):]
		for c.broken {
			c.whole.Wait()
		}
		c.mu.Unlock()
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// restore mends the line; if what was on it is lost, connections break for good and new ones are made.
func (c *cutLine) restore(lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lost {
		for _, conn := range c.open {
			_ = conn.Close()
		}
		c.open = nil
	}
	c.broken = false
	c.whole.Broadcast()
}

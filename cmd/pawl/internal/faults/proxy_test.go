//go:build unix

package faults

import (
	"net"
	"regexp"
	"sync"
	"testing"
)

// network is what the servers of the nodes talk over: each node is reached through a proxy, which knows which node has
// dialled, and can hold back what a node that is cut off sends and gets.
type network struct {
	t  *testing.T
	mu sync.Mutex
	// changed tells those that wait for a node to be back.
	changed *sync.Cond
	cut     map[string]bool
}

func newNetwork(t *testing.T) *network {
	n := &network{t: t, cut: map[string]bool{}}
	n.changed = sync.NewCond(&n.mu)
	return n
}

// set cuts a node off, or lets it back.
func (n *network) set(node string, off bool) {
	n.mu.Lock()
	n.cut[node] = off
	n.mu.Unlock()
	n.changed.Broadcast()
}

// await waits until neither node is cut off.
func (n *network) await(a, b string) {
	n.mu.Lock()
	for n.cut[a] || n.cut[b] {
		n.changed.Wait()
	}
	n.mu.Unlock()
}

// listen makes the proxy of a node, whose server listens on target, and returns its address.
func (n *network) listen(node, target string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go n.pass(node, from, target)
		}
	}()
	return l.Addr().String()
}

// names finds the name of a server in its first words.
var names = regexp.MustCompile(`"(?:server_)?name":"([ns]\d)"`)

// pass connects a server that has dialled with the server of the node. The first words of the dialling server hold its
// name.
func (n *network) pass(node string, from net.Conn, target string) {
	defer from.Close()
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer to.Close()
	var mu sync.Mutex
	dialler := ""
	peer := func() string {
		mu.Lock()
		defer mu.Unlock()
		return dialler
	}
	done := make(chan struct{}, 2)
	forward := func(dst, src net.Conn, sniff bool) {
		defer func() { done <- struct{}{} }()
		buf := make([]byte, 64<<10)
		for {
			size, err := src.Read(buf)
			if size > 0 {
				if sniff && peer() == "" {
					if found := names.FindSubmatch(buf[:size]); found != nil {
						mu.Lock()
						dialler = string(found[1])
						mu.Unlock()
					}
				}
				n.await(node, peer())
				if _, err := dst.Write(buf[:size]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	go forward(to, from, true)
	go forward(from, to, false)
	<-done
}

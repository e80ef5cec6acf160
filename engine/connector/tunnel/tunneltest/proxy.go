package tunneltest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// Proxy connects to what stands behind names.
type Proxy struct {
	// Address is where it listens, "host:port".
	Address string
	names   map[string]string
	refuses int

	mu    sync.Mutex
	asked []*http.Request
}

// New starts a proxy until the test ends. Names are addresses, "host:port", by the "name:port" that is asked for.
func New(t testing.TB, names map[string]string) *Proxy {
	t.Helper()
	return start(t, &Proxy{names: names})
}

// Refusing starts a proxy that answers everything with the status.
func Refusing(t testing.TB, status int) *Proxy {
	t.Helper()
	return start(t, &Proxy{refuses: status})
}

func start(t testing.TB, p *Proxy) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.Address = listener.Addr().String()
	var all sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(c) })
		}
	})
	return p
}

// Asked are the requests that it was sent.
func (p *Proxy) Asked() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// Auth is the user and password that a request shows to the proxy.
func Auth(r *http.Request) (user, password string) {
	shown := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	user, password, _ = shown.BasicAuth()
	return user, password
}

func (p *Proxy) serve(c net.Conn) {
	defer c.Close()
	request, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, request)
	p.mu.Unlock()
	if p.refuses != 0 || request.Method != http.MethodConnect {
		answer(c, max(p.refuses, http.StatusBadRequest))
		return
	}
	behind, err := net.Dial("tcp", p.names[request.Host])
	if err != nil {
		answer(c, http.StatusBadGateway)
		return
	}
	defer behind.Close()
	answer(c, http.StatusOK)
	go func() {
		_, _ = io.Copy(behind, c)
		behind.Close()
	}()
	_, _ = io.Copy(c, behind)
}

// answer answers without a body. What cannot be written is noticed at the other end.
func answer(c net.Conn, status int) {
	length := "Content-Length: 0\r\n"
	if status == http.StatusOK {
		length = "" // the answer to CONNECT has no body
	}
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d X\r\n%s\r\n", status, length)
}

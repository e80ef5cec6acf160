package natsservice_test

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between the engine and the server and can cut the line.
type proxy struct {
	t      *testing.T
	target string
	listen net.Listener

	mu      sync.Mutex
	open    []net.Conn
	refuses bool
	// swallow drops what the engine sends, as a network does that fails silently.
	swallow bool
	// dropped gets a value for each piece that was swallowed.
	dropped chan int
	wait    sync.WaitGroup
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, target: u.Host, listen: l, dropped: make(chan int, 1000)}
	p.wait.Add(1)
	go p.accept()
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		p.wait.Wait()
	})
	return p
}

func (p *proxy) url(user *url.Userinfo) string {
	return (&url.URL{Scheme: "nats", User: user, Host: p.listen.Addr().String()}).String()
}

func (p *proxy) accept() {
	defer p.wait.Done()
	for {
		from, err := p.listen.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", p.target)
		p.mu.Lock()
		if err != nil || p.refuses {
			p.mu.Unlock()
			_ = from.Close()
			if err == nil {
				_ = to.Close()
			}
			continue
		}
		p.open = append(p.open, from, to)
		p.mu.Unlock()
		p.wait.Add(2)
		go p.pipe(to, from, true)
		go p.pipe(from, to, false)
	}
}

func (p *proxy) pipe(to, from net.Conn, up bool) {
	defer p.wait.Done()
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		swallow := up && p.swallow
		p.mu.Unlock()
		if swallow && n > 0 {
			p.dropped <- n
			n = 0
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut breaks all connections; none is let through until restore.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = true
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses, p.swallow = false, false
}

func (p *proxy) swallows() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = true
}

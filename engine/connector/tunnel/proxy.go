package tunnel

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/pawl-run/pawl/engine/connector/publicnet"
)

// Proxy is where connections go through. Its methods are safe for concurrent use.
type Proxy struct {
	address string // "name:port"
	user    *url.Userinfo
}

// New reads the address of a proxy, such as http://proxy.example.com:3128, with user and password where it asks for
// them. The error says what is wanted and repeats nothing of the text: it may hold a password.
func New(text string) (*Proxy, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, errors.New("want http:// with the name and port of a proxy, as in http://proxy.example.com:3128")
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return &Proxy{address: net.JoinHostPort(u.Hostname(), port), user: u.User}, nil
}

// Password is the one that the proxy asks for; empty for none.
func (p *Proxy) Password() string {
	password, _ := p.user.Password()
	return password
}

// Dial opens a connection to the address of a host, "name:port". Of an address that is written there instead of a name,
// and is not public, the error is a *publicnet.RefusedError, unless private is true.
func (p *Proxy) Dial(ctx context.Context, host, address string, private bool) (net.Conn, error) {
	name, _, _ := net.SplitHostPort(address)
	if _, err := netip.ParseAddr(name); err == nil && !private {
		if err := publicnet.Control(host)("tcp", address, nil); err != nil {
			return nil, err
		}
	}
	dialer := net.Dialer{KeepAlive: 30 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", p.address, err)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err := p.connect(conn, address); err != nil {
		conn.Close()
		return nil, fmt.Errorf("proxy %s: %w", p.address, err)
	}
	return conn, nil
}

// maxAnswer bounds what a proxy answers to CONNECT.
const maxAnswer = 64 << 10

// connect asks the proxy at the other end for a connection to the address.
func (p *Proxy) connect(conn net.Conn, address string) error {
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address,
		Header: http.Header{"User-Agent": []string{"pawl"}}}
	if p.user != nil {
		ask.Header["Proxy-Authorization"] = []string{"Basic " +
			base64.StdEncoding.EncodeToString([]byte(p.user.Username()+":"+p.Password()))}
	}
	if err := ask.Write(conn); err != nil {
		return fmt.Errorf("ask for a connection to %s: %w", address, err)
	}
	reader := bufio.NewReader(io.LimitReader(conn, maxAnswer))
	answer, err := http.ReadResponse(reader, ask)
	if err != nil {
		return fmt.Errorf("read the answer to CONNECT %s: %w", address, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered %d to CONNECT %s", answer.StatusCode, address)
	}
	if reader.Buffered() > 0 {
		return fmt.Errorf("it sent more than its answer to CONNECT %s", address)
	}
	return nil
}

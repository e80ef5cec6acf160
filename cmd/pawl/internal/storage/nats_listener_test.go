package storage

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/client"
	"github.com/pawl-run/pawl/cmd/pawl/internal/config"
	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

// An address without a host means this machine; one beyond it needs TLS; none has no users.
func TestNATSAddress(t *testing.T) {
	cert, key := certificateFiles(t)
	for _, tt := range []struct {
		listen, want   string
		tls, plaintext bool
		encrypts       bool
		fails          string
	}{
		{listen: ""},
		{listen: ":0", want: "127.0.0.1:0"},
		{listen: ":0", want: "127.0.0.1:0", tls: true},
		{listen: "localhost:4222", want: "localhost:4222"},
		{listen: "[::1]:4222", want: "[::1]:4222"},
		{listen: "0.0.0.0:4222", fails: "refusing to listen on 0.0.0.0:4222 for NATS"},
		{listen: "0.0.0.0:4222", want: "0.0.0.0:4222", tls: true, encrypts: true},
		{listen: "0.0.0.0:4222", want: "0.0.0.0:4222", plaintext: true},
		{listen: "[::]:4222", fails: "without TLS"},
		{listen: "pawl.example.com:4222", fails: "without TLS"},
		{listen: "pawl.example.com:4222", want: "pawl.example.com:4222", tls: true, plaintext: true, encrypts: true},
		{listen: "4222", fails: "nats-listen"},
	} {
		t.Run(tt.listen, func(t *testing.T) {
			s := config.Settings{Data: t.TempDir(), NATSListen: tt.listen, Plaintext: tt.plaintext}
			l := natsListener{settings: s}
			if tt.tls {
				l.settings.TLSCert, l.settings.TLSKey = cert, key
			}
			var broker embeddednats.Config
			err := l.configure(&broker)
			if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Fatal(err)
			}
			if broker.ListenAddr != tt.want || (len(broker.Users) == 4) != (tt.want != "") || broker.Insecure ||
				(broker.TLS != nil) != tt.encrypts {
				t.Errorf("listens on %q with %d users, TLS %v", broker.ListenAddr, len(broker.Users), broker.TLS)
			}
		})
	}
}

// Commands on this machine reach a listener with TLS by the certificate that it wrote down, whatever name
// that has, and no other listener.
func TestNATSCertificate(t *testing.T) {
	dir := t.TempDir()
	listen := func() (*natsListener, *embeddednats.Server) {
		cert, key := certificateFiles(t)
		s := config.Settings{Data: filepath.Join(dir, "data"), TLSCert: cert, TLSKey: key}
		l := &natsListener{settings: s, encrypted: true}
		certificate, err := s.TLS()
		if err != nil {
			t.Fatal(err)
		}
		users, err := embeddednats.Users(l.Dir(), "", 1)
		if err != nil {
			t.Fatal(err)
		}
		server := natstest.NewServer(t, natstest.Fast, func(c *embeddednats.Config) {
			c.ListenAddr, c.Users, c.TLS = "127.0.0.1:0", users, certificate
		})
		return l, server
	}
	l, server := listen()
	_, other := listen()
	var opened Closers
	if err := l.writeDown(server, &opened); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(l.Dir(), "operator.url")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(string(content))
	if !strings.HasPrefix(text, "tls://operator:") {
		t.Errorf("%s holds %s", file, text)
	}
	if nc, err := nats.Connect(text); err == nil {
		nc.Close()
		t.Error("a certificate of no known authority is taken")
	}
	line, err := client.NATSLine("@" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	options, err := client.Pinned(l.Dir())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(text, options...)
	if err != nil {
		t.Fatal(err)
	}
	if tls, err := nc.TLSConnectionState(); err != nil || len(tls.PeerCertificates) == 0 {
		t.Errorf("not encrypted: %v", err)
	}
	nc.Close()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := url.Parse(other.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	u.Host = elsewhere.Host
	if nc, err := nats.Connect(u.String(), options...); err == nil ||
		!strings.Contains(err.Error(), "another certificate") {
		t.Errorf("another listener: %v", err)
		if err == nil {
			nc.Close()
		}
	}
	u.Scheme, u.Host = "nats", strings.TrimPrefix(server.ClientURL(), "tls://")
	// Without TLS nothing is sent to a listener that asks for it.
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	info := make([]byte, 4096)
	n, err := conn.Read(info)
	if err != nil || !strings.Contains(string(info[:n]), `"tls_required":true`) {
		t.Errorf("the listener says %s, %v", info[:n], err)
	}
	// The next engine listens on this machine only, and its certificate is forgotten.
	l.encrypted = false
	if err := l.writeDown(server, &opened); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(l.Dir(), datadir.NATSCertificate)); !os.IsNotExist(err) {
		t.Errorf("the certificate stays: %v", err)
	}
}

// certificateFiles writes a certificate of no known authority, and its key.
func certificateFiles(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"pawl.example.com"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

package embeddednats_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pawl-run/pawl/embeddednats"
	"github.com/pawl-run/pawl/embeddednats/natstest"
)

func TestClusterElectsAndStepsDown(t *testing.T) {
	c := natstest.NewCluster(t, 3, natstest.Fast)
	nc := c.Connect(1)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"},
		Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	if !c.StepDown(t.Context(), nc, "S") {
		t.Error("leader did not step down")
	}
}

// authority signs certificates of nodes.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

func newAuthority(t *testing.T) authority {
	a := authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign})
	return a
}

// sign makes a certificate and writes it and its key to NAME.crt and NAME.key.
func (a authority) sign(name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: der},
		name + ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(a.dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

// node is the TLS of a node on loopback.
func (a authority) node(name string) *tls.Config {
	a.sign(name, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	file := func(name string) string { return filepath.Join(a.dir, name) }
	config, err := embeddednats.ClusterTLS(file(name+".crt"), file(name+".key"), file("ca.crt"))
	if err != nil {
		a.t.Fatal(err)
	}
	return config
}

// Nodes form a cluster over TLS, and a program without a certificate of their authority cannot talk to them.
func TestNodesTalkOverMutualTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	c := natstest.NewCluster(t, 3, natstest.Fast, func(c *embeddednats.Config) { c.Cluster.TLS = ours.node(c.Name) })
	for name, config := range map[string]*tls.Config{
		"none":                 {RootCAs: ours.node("client").RootCAs},
		"of another authority": {RootCAs: ours.node("client").RootCAs, Certificates: theirs.node("intruder").Certificates},
	} {
		plain, err := net.Dial("tcp", c.Config(0).Cluster.Listen)
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		config.ServerName = "127.0.0.1"
		conn := tls.Client(plain, config)
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		if err = conn.HandshakeContext(t.Context()); err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("with a certificate, %s, a program is let in: %v", name, err)
		}
	}
	members, err := c.Servers[1].Members()
	if err != nil || len(members.Nodes) != 3 || members.Cluster != "pawl-test" {
		t.Errorf("members: %+v, %v", members, err)
	}
}

func TestClusterBeyondLoopbackNeedsMutualTLS(t *testing.T) {
	mutual := newAuthority(t).node("a")
	oneSided := mutual.Clone()
	oneSided.ClientAuth = tls.NoClientCert
	for name, c := range map[string]embeddednats.Cluster{
		"listens everywhere":   {Listen: "0.0.0.0:0", Routes: []string{"127.0.0.1:1"}},
		"without a host":       {Listen: ":0", Routes: []string{"127.0.0.1:1"}},
		"goes elsewhere":       {Listen: "127.0.0.1:0", Routes: []string{"node-b.example.org:6222"}},
		"advertised elsewhere": {Listen: "127.0.0.1:0", Routes: []string{"127.0.0.1:1"}, Advertise: "10.0.0.1:6222"},
		"one-sided":            {Listen: "127.0.0.1:0", Routes: []string{"127.0.0.1:1"}, TLS: oneSided},
	} {
		c.Name = "c"
		s, err := embeddednats.Start(t.Context(), embeddednats.Config{StoreDir: t.TempDir(), Name: "a", Cluster: &c})
		if err == nil {
			s.Shutdown()
			t.Errorf("%s: accepted", name)
			continue
		}
		if c.TLS == nil != errors.Is(err, embeddednats.ErrClusterPlain) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The data of one mode is refused in the other before the server starts, and nothing of it is lost.
func TestDataOfOneModeIsRefusedInTheOther(t *testing.T) {
	alone := t.TempDir()
	s := natstest.NewServer(t, natstest.InDir(alone))
	keep(t, s, 1)
	s.Shutdown()
	cluster := func(name string) *embeddednats.Cluster {
		return &embeddednats.Cluster{Name: name, Listen: "127.0.0.1:0", Routes: []string{"127.0.0.1:1"}}
	}
	refused := func(c embeddednats.Config, want error, words ...string) {
		t.Helper()
		s, err := embeddednats.Start(t.Context(), c)
		if err == nil {
			s.Shutdown()
		}
		if !errors.Is(err, want) {
			t.Errorf("%+v: error is %v, want %v", c, err, want)
			return
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("error %q lacks %q", err, word)
			}
		}
	}
	refused(embeddednats.Config{StoreDir: alone, Name: "a", Cluster: cluster("c")}, embeddednats.ErrStandaloneData, alone,
		"pawl backup", "pawl restore DIR")
	s = natstest.NewServer(t, natstest.InDir(alone))
	wantKept(t, s, 1)
	s.Shutdown()

	c := natstest.NewCluster(t, 3)
	keep(t, c.Servers[0], 3)
	c.Stop(1)
	member := c.Config(1)
	refused(embeddednats.Config{StoreDir: member.StoreDir}, embeddednats.ErrClusterData, "node n2 of cluster pawl-test")
	other := member
	other.Name = "n9"
	refused(other, embeddednats.ErrClusterData, "node n2 of cluster pawl-test", "node n9")
	other = member
	other.Cluster = cluster("other")
	refused(other, embeddednats.ErrClusterData, "cluster other")
	c.Start(t.Context(), 1)
	wantKept(t, c.Servers[1], 3)
}

// A node that ended before it joined leaves a directory that an engine may run on alone. Its log is as safe from a
// cluster as any other, also where the note of that node is still there.
func TestDataOfAnEngineWhereANodeNeverJoined(t *testing.T) {
	dir := t.TempDir()
	note := filepath.Join(dir, "cluster.json")
	leave := func() {
		if err := os.WriteFile(note, []byte(`{"cluster":"c","node":"a"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	s := natstest.NewServer(t, natstest.InDir(dir))
	keep(t, s, 1)
	s.Shutdown()
	s = natstest.NewServer(t, natstest.InDir(dir)) // it is no node's data
	wantKept(t, s, 1)
	s.Shutdown()
	leave()
	s, err := embeddednats.Start(t.Context(), embeddednats.Config{StoreDir: dir, Name: "a",
		Cluster: &embeddednats.Cluster{Name: "c", Listen: "127.0.0.1:0", Routes: []string{"127.0.0.1:1"}}})
	if err == nil {
		s.Shutdown()
	}
	if !errors.Is(err, embeddednats.ErrStandaloneData) {
		t.Errorf("error is %v, want %v", err, embeddednats.ErrStandaloneData)
	}
	if err := os.Remove(note); err != nil {
		t.Fatal(err)
	}
	s = natstest.NewServer(t, natstest.InDir(dir))
	wantKept(t, s, 1)
	s.Shutdown()
}

// A node that lost its data comes back under a new name: it takes what the others have, and makes no stream of its own.
func TestBlankNodeJoins(t *testing.T) {
	c := natstest.NewCluster(t, 3, natstest.Fast)
	keep(t, c.Servers[0], 3)
	c.Stop(2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	if err := c.Servers[0].WriteLocalURLs(dir); err != nil {
		t.Fatal(err)
	}
	system := byFile(t, filepath.Join(dir, embeddednats.LocalSystemURL+".url"))
	if err := embeddednats.Remove(ctx, system, "nobody"); err == nil {
		t.Error("a node that is not there is removed")
	}
	if err := embeddednats.Remove(ctx, system, "n3"); err != nil && !strings.Contains(err.Error(), "not any more") {
		t.Fatal(err)
	}
	js, err := jetstream.New(byFile(t, filepath.Join(dir, embeddednats.LocalURL+".url")))
	if err != nil {
		t.Fatal(err)
	}
	i := c.Join(ctx, "n4")
	inStep := func() bool {
		stream, err := js.Stream(ctx, "S")
		if err != nil {
			return false
		}
		of := stream.CachedInfo().Cluster
		for _, r := range of.Replicas {
			if r.Name == "n4" && r.Current {
				return true
			}
		}
		return of.Leader == "n4"
	}
	for tick := time.NewTicker(50 * time.Millisecond); !inStep(); <-tick.C {
		if ctx.Err() != nil {
			t.Fatal("the stream gets no copy on the new node")
		}
	}
	c.Stop(1) // what the last old node and the new one have is a majority
	wantKept(t, c.Servers[i], 3)
	members, err := c.Servers[i].Members()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members.Nodes {
		if m.Name == "n3" {
			t.Errorf("the removed node counts: %+v", members)
		}
	}
}

func TestAServerThatIsAloneHasNoMembers(t *testing.T) {
	s := natstest.NewServer(t)
	if _, err := s.Members(); !errors.Is(err, embeddednats.ErrAlone) {
		t.Error(err)
	}
	if err := s.WriteLocalURLs(t.TempDir()); !errors.Is(err, embeddednats.ErrAlone) {
		t.Error(err)
	}
}

// byFile connects to the URL in a file, which only its owner can read.
func byFile(t *testing.T, path string) *nats.Conn {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	url, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(strings.TrimSpace(string(url)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// keep makes stream S with one message.
func keep(t *testing.T, s *embeddednats.Server, replicas int) {
	t.Helper()
	js, err := jetstream.New(natstest.Connect(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"},
		Replicas: replicas}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("kept")); err != nil {
		t.Fatal(err)
	}
}

// wantKept holds that stream S has its message; a cluster may be without a leader for a while.
func wantKept(t *testing.T, s *embeddednats.Server, replicas int) {
	t.Helper()
	js, err := jetstream.New(natstest.Connect(t, s))
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Minute)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		stream, err := js.Stream(ctx, "S")
		if err == nil {
			var m *jetstream.RawStreamMsg
			if m, err = stream.GetMsg(ctx, 1); err == nil {
				if string(m.Data) != "kept" || stream.CachedInfo().Config.Replicas != replicas {
					t.Errorf("message 1 is %q, of %d replicas", m.Data, stream.CachedInfo().Config.Replicas)
				}
				cancel()
				return
			}
		}
		cancel()
		if time.Now().After(end) {
			t.Fatalf("stream S and its message: %v", err)
		}
	}
}

package embeddednats

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
)

// authenticator lets users in by name and password and gives each its permissions and its account.
// The server could do the same from its options, but then all accounts would have to be there
// before JetStream, which would no longer find the engine's streams by itself; and users that come and
// go would need its configuration to be read again.
type authenticator struct {
	logger *slog.Logger

	// mu is held while a connection is let in, so that none is missed when the admission of its user ends.
	mu    sync.RWMutex
	users map[string]*admission
}

// admission is one user and what it gets.
type admission struct {
	password [sha256.Size]byte
	granted  *server.User
	apart    *apart // nil for a user whose connections share an account
	// inProcess is true of the engine's own users: they never come over the network.
	inProcess bool
	local     bool
	warning   string
	warned    atomic.Bool
}

func newAuthenticator(logger *slog.Logger) *authenticator {
	return &authenticator{logger: logger, users: make(map[string]*admission)}
}

// Check is called by the server for each connection.
func (a *authenticator) Check(c server.ClientAuthentication) bool {
	opts := c.GetOpts()
	a.mu.RLock()
	defer a.mu.RUnlock()
	user, ok := a.users[opts.Username]
	if !ok || c.Kind() != server.CLIENT {
		return false
	}
	// Hashes have one length, so that the time taken says nothing about the password's.
	got := sha256.Sum256([]byte(opts.Password))
	if subtle.ConstantTimeCompare(user.password[:], got[:]) != 1 {
		return false
	}
	from := c.RemoteAddress()
	switch {
	case user.inProcess && (from == nil || from.Network() != "pipe"):
		return false
	case user.local && !ofThisMachine(from):
		a.logger.Warn("a NATS user that is for this machine only was refused to another one", "user", opts.Username, "from",
			from)
		return false
	}
	if user.warning != "" && user.warned.CompareAndSwap(false, true) {
		a.logger.Warn(user.warning, "user", opts.Username, "from", from)
	}
	if user.apart == nil {
		c.RegisterUser(user.granted)
		return true
	}
	if err := user.apart.enter(c); err != nil {
		a.logger.Warn("a NATS user was refused", "user", opts.Username, "from", from, "error", err)
		return false
	}
	return true
}

// ofThisMachine says whether the connection comes from this machine: from a loopback address, or from another address
// that this machine has.
func ofThisMachine(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return ok
	}
	own, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(own, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(tcp.IP)
	})
}

// admit lets the user in from now on, each of its connections into an account of its own with apart.
func (a *authenticator) admit(u User, account *server.Account, apart *apart) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.users[u.Name] = &admission{
		password:  sha256.Sum256([]byte(u.Password)),
		granted:   &server.User{Username: u.Name, Account: account, Permissions: u.permissions()},
		apart:     apart,
		inProcess: isInternal(u.Name) && !u.Local, local: u.Local, warning: u.Warning,
	}
}

// dismiss refuses the user from now on.
func (a *authenticator) dismiss(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.users, name)
}

package embeddednats

import (
	"crypto/sha256"
	"crypto/subtle"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
)

// authenticator lets users in by name and password and gives each its permissions and its account.
// The server could do the same from its options, but then all accounts would have to be there
// before JetStream, which would no longer find the engine's streams by itself.
type authenticator struct {
	users map[string]*admission
}

// admission is one user and what it gets.
type admission struct {
	User
	// granted is nil until the user's account is ready; nobody gets in before.
	granted atomic.Pointer[server.User]
}

func newAuthenticator(users []User) *authenticator {
	a := &authenticator{users: make(map[string]*admission, len(users))}
	for _, u := range users {
		a.users[u.Name] = &admission{User: u}
	}
	return a
}

// Check is called by the server for each connection.
func (a *authenticator) Check(c server.ClientAuthentication) bool {
	opts := c.GetOpts()
	user, ok := a.users[opts.Username]
	if !ok {
		return false
	}
	// Hashes have one length, so that the time taken says nothing about the password's.
	want, got := sha256.Sum256([]byte(user.Password)), sha256.Sum256([]byte(opts.Password))
	granted := user.granted.Load()
	if granted == nil || user.Password == "" || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		return false
	}
	c.RegisterUser(granted)
	return true
}

// admit lets the user in from now on.
func (a *authenticator) admit(name string, account *server.Account) {
	user := a.users[name]
	user.granted.Store(&server.User{Username: name, Account: account, Permissions: user.permissions()})
}

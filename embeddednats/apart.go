package embeddednats

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// maxApart is how many connections of a user that is kept apart may be open at once: each has an account, which
	// costs some memory and stays.
	maxApart = 1000
	// longestAnswer bounds how long the way back of an answer is kept open. It ends sooner where the asker disconnects.
	longestAnswer = 24 * time.Hour
)

// apart gives each connection of a user an account of its own. Permissions cannot do that: a program chooses the
// inbox that it is answered on, so the user may subscribe to any, and two connections in one account could read
// each other's answers. The server has no way to end an account, so those that were left are used again.
type apart struct {
	server *server.Server
	user   User
	to     *server.Account

	mu       sync.Mutex
	accounts []*server.Account
}

// keepApart exports the subjects that the user may publish to, so that the accounts of its connections can import them.
func keepApart(s *server.Server, u User, to *server.Account) (*apart, error) {
	if u.Publish == nil {
		return nil, fmt.Errorf("keep the connections of NATS user %s apart: what it may publish is not listed", u.Name)
	}
	for _, subject := range u.Publish {
		err := to.AddServiceExportWithResponse(subject, server.Singleton, nil)
		if err == nil {
			err = to.SetServiceExportResponseThreshold(subject, longestAnswer)
		}
		if err != nil {
			return nil, fmt.Errorf("open %s to NATS user %s: %w", subject, u.Name, err)
		}
	}
	return &apart{server: s, user: u, to: to}, nil
}

// errTooMany: all accounts are in use, and there may be no more.
var errTooMany = errors.New("too many of its connections are open")

// enter gives the connection its account.
func (a *apart) enter(c server.ClientAuthentication) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	account, err := a.freeAccount()
	if err != nil {
		return fmt.Errorf("let in NATS user %s: %w", a.user.Name, err)
	}
	c.RegisterUser(&server.User{Username: a.user.Name, Account: account, Permissions: a.user.permissions()})
	return nil
}

// freeAccount finds an account that has no connection and no request that waits for its answer, or makes one.
func (a *apart) freeAccount() (*server.Account, error) {
	for _, account := range a.accounts {
		if account.NumLocalConnections() == 0 && account.NumPendingReverseResponses() == 0 {
			return account, nil
		}
	}
	if len(a.accounts) >= maxApart {
		return nil, errTooMany
	}
	// Accounts of one name on two servers of a cluster are one account.
	account, err := a.server.RegisterAccount(fmt.Sprintf("%s_%s_%d", a.to.GetName(), a.server.Name(), len(a.accounts)+1))
	if err != nil {
		return nil, err
	}
	for _, subject := range a.user.Publish {
		if err := account.AddServiceImport(a.to, subject, subject); err != nil {
			return nil, err
		}
	}
	a.accounts = append(a.accounts, account)
	return account, nil
}

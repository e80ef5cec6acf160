package projections

import (
	"crypto/subtle"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// Login finds the login with the id, whether or not it has expired.
func (w *Workflow) Login(id eventlog.LoginID) (Login, bool) {
	for _, l := range w.Logins {
		if l.ID == id {
			return l, true
		}
	}
	return Login{}, false
}

// LoginOf finds the login whose secret has the hash, if it has not expired by then.
func (w *Workflow) LoginOf(hash string, now eventlog.Instant) (Login, bool) {
	for _, l := range w.Logins {
		if subtle.ConstantTimeCompare([]byte(l.Hash), []byte(hash)) == 1 && now < l.ExpiresAt {
			return l, true
		}
	}
	return Login{}, false
}

func (f *folding) loginOpened(e *eventlog.LoginOpened) error {
	if err := f.ofInstallation(); err != nil {
		return err
	}
	if _, known := f.Login(e.ID); known {
		return fmt.Errorf("login %s is open already", e.ID)
	}
	f.Logins = append(slices.Clone(f.Logins), Login{ID: e.ID, Hash: e.Hash, User: e.User, Role: e.Role,
		Workflow: e.Workflow, Token: e.Token, OpenedAt: f.at(), ExpiresAt: e.ExpiresAt})
	return nil
}

func (f *folding) loginClosed(e *eventlog.LoginClosed) error {
	if err := f.ofInstallation(); err != nil {
		return err
	}
	if _, known := f.Login(e.ID); !known {
		return fmt.Errorf("login %s is not open", e.ID)
	}
	f.Logins = slices.DeleteFunc(slices.Clone(f.Logins), func(l Login) bool { return l.ID == e.ID })
	return nil
}

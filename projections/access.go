package projections

import (
	"cmp"
	"crypto/subtle"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/eventlog"
)

// Token finds the token in use with the name.
func (w *Workflow) Token(name eventlog.TokenName) (Token, bool) {
	for _, t := range w.Tokens {
		if t.Name == name {
			return t, true
		}
	}
	return Token{}, false
}

// TokenOf finds the token in use with the hash.
func (w *Workflow) TokenOf(hash string) (Token, bool) {
	i, found := slices.BinarySearchFunc(w.Tokens, hash, byHash)
	if !found || subtle.ConstantTimeCompare([]byte(w.Tokens[i].Hash), []byte(hash)) != 1 {
		return Token{}, false
	}
	return w.Tokens[i], true
}

func byHash(t Token, hash string) int { return cmp.Compare(t.Hash, hash) }

func (f *folding) tokenCreated(e *eventlog.TokenCreated) error {
	if err := f.ofInstallation(); err != nil {
		return err
	}
	at, taken := slices.BinarySearchFunc(f.Tokens, e.Hash, byHash)
	if _, known := f.Token(e.Name); known || taken {
		return fmt.Errorf("token %s is in use already", e.Name)
	}
	f.Tokens = slices.Insert(slices.Clone(f.Tokens), at, Token{
		Name: e.Name, Role: e.Role, Workflow: e.Workflow, Hash: e.Hash, Last4: e.Last4, CreatedAt: f.at(),
		CreatedBy: f.t.Actor,
	})
	return nil
}

func (f *folding) tokenRevoked(e *eventlog.TokenRevoked) error {
	if err := f.ofInstallation(); err != nil {
		return err
	}
	if _, known := f.Token(e.Name); !known {
		return fmt.Errorf("token %s is not in use", e.Name)
	}
	f.Tokens = slices.DeleteFunc(slices.Clone(f.Tokens), func(t Token) bool { return t.Name == e.Name })
	return nil
}

// restored pauses the workflow. A person's pause of before the backup stays that person's.
func (f *folding) restored(e *eventlog.LogRestored) {
	if f.t.Workflow == eventlog.Installation || f.Archived {
		return
	}
	pause := Pause{By: f.t.Actor, Since: f.at()}
	if f.Pause != nil {
		pause = *f.Pause
	}
	pause.Restored = &Restored{From: e.From, TakenAt: e.TakenAt}
	f.Pause = &pause
}

func (f *folding) ofInstallation() error {
	if f.t.Workflow != eventlog.Installation {
		return fmt.Errorf("the fact belongs to %s, not to a workflow", eventlog.Installation)
	}
	return nil
}

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

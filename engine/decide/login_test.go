package decide_test

import (
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// login is a login that is asked for with the token of the name, empty for none.
func login(id string, n int, token eventlog.TokenName) decide.OpenLogin {
	return decide.OpenLogin{ID: eventlog.LoginID(id), Hash: tokenHash(n), Role: eventlog.RoleViewer, Token: token,
		User: eventlog.Actor{Kind: "user", Name: "ann"}}
}

// A login opens the engine until it is closed, expires, or the token is revoked with which it was asked for.
func TestLogins(t *testing.T) {
	t.Parallel()
	i := newInstalled(t)
	without := login("x", 2, "")
	without.Hash = ""
	ingest := login("x", 2, "")
	ingest.Role = eventlog.RoleIngest
	for _, c := range []struct {
		what string
		cmd  decide.Command
		want string
	}{
		{"none to close", decide.CloseLogin{ID: "x"}, "login.unknown"},
		{"the first", login("a", 1, ""), ""},
		{"the same", login("a", 2, ""), "login.exists"},
		{"no secret", without, "login.invalid"},
		{"no role of people", ingest, "login.invalid"},
		{"of a token that is none", login("b", 2, "ci"), "token.unknown"},
		{"the token", decide.CreateToken{Name: "ci", Role: eventlog.RoleViewer, Hash: tokenHash(9), Last4: "ABCD"}, ""},
		{"of a token", login("b", 2, "ci"), ""},
		{"another", login("c", 3, ""), ""},
		{"the other is closed", decide.CloseLogin{ID: "c"}, ""},
		{"closed again", decide.CloseLogin{ID: "c"}, "login.unknown"},
		{"a push", decide.Push{Topic: "a", Items: []decide.PushItem{{MessageID: "1"}}}, "workflow.unknown"},
	} {
		if got := i.decides(eventlog.Installation, c.cmd); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if got := newInstalled(t).decides("shop", login("a", 1, "")); got != "token.misplaced" {
		t.Errorf("a login of a workflow: %q", got)
	}
	for n, want := range map[int]bool{1: true, 2: true, 3: false, 9: false} {
		if _, ok := i.state.LoginOf(tokenHash(n), 20); ok != want {
			t.Errorf("secret %d opens the engine: %t, want %t", n, ok, want)
		}
	}
	before := i.state
	if got := i.decides(eventlog.Installation, decide.RevokeToken{Name: "ci"}); got != "" {
		t.Fatalf("revoke: %q", got)
	}
	if _, ok := i.state.LoginOf(tokenHash(2), 20); ok {
		t.Error("a login outlives its token")
	}
	if _, ok := before.LoginOf(tokenHash(2), 20); !ok {
		t.Error("a state that was read has changed")
	}
	if l, _ := i.state.Login("a"); l.ExpiresAt != l.OpenedAt.Add(decide.LoginLife) {
		t.Errorf("%+v does not last for %s", l, decide.LoginLife)
	} else if _, ok := i.state.LoginOf(tokenHash(1), l.ExpiresAt); ok {
		t.Error("an expired login opens the engine")
	}
}

// of is a login of the user that was asked for with no named token.
func of(user string, n int) decide.OpenLogin {
	cmd := login(user+tokenHash(n), n, "")
	cmd.User.Name = user
	return cmd
}

// Of too many logins of one maker its oldest are closed, and none of another's.
func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	i := newInstalled(t)
	opens := func(cmd decide.OpenLogin) {
		t.Helper()
		if got := i.decides(eventlog.Installation, cmd); got != "" {
			t.Fatalf("login %s: %q", cmd.ID, got)
		}
	}
	if got := i.decides(eventlog.Installation, decide.CreateToken{Name: "spy", Role: eventlog.RoleViewer,
		Hash: tokenHash(9999), Last4: "ABCD"}); got != "" {
		t.Fatalf("the token: %q", got)
	}
	opens(of("ann", 1))
	for n := range 300 {
		cmd := login(tokenHash(1000+n), 1000+n, "spy")
		cmd.User.Name = "claims another name each time " + tokenHash(n)
		opens(cmd)
	}
	if len(i.state.Logins) != 11 || i.state.Logins[0].User.Name != "ann" ||
		i.state.Logins[1].ID != eventlog.LoginID(tokenHash(1290)) {
		t.Errorf("%d logins are left, the oldest are %+v", len(i.state.Logins), i.state.Logins[:2])
	}
	// All together are bounded too: the maker that has the most makes room.
	for n := range 98 {
		opens(of("user "+tokenHash(n), 2000+n))
	}
	spies := 0
	for _, l := range i.state.Logins {
		if l.Token == "spy" {
			spies++
		}
	}
	if len(i.state.Logins) != 100 || spies != 1 || i.state.Logins[0].User.Name != "ann" {
		t.Errorf("%d logins, %d of one token", len(i.state.Logins), spies)
	}
	if got := i.decides(eventlog.Installation, decide.AcceptLoss{Detail: "a test"}); got != "" || len(i.state.Logins) > 0 {
		t.Errorf("%q leaves %d logins", got, len(i.state.Logins))
	}
}

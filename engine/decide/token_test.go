package decide_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// installed is the fold of an installation's tokens.
type installed struct {
	t     *testing.T
	state *projections.State
}

func newInstalled(t *testing.T) *installed { return &installed{t: t, state: new(projections.State)} }

// decides carries out the command and returns the code of a refusal, empty for none.
func (i *installed) decides(w eventlog.WorkflowName, cmd decide.Command) string {
	i.t.Helper()
	env := decide.Env{Now: eventlog.Instant(i.state.Head.Revision + 1), Policies: schedule.Default(),
		Actor: eventlog.Actor{Kind: "user", Name: "ann"}}
	d, err := decide.Decide(i.state, w, env, cmd)
	var refusal *decide.Refusal
	if errors.As(err, &refusal) {
		if len(d.Facts) > 0 {
			i.t.Errorf("%+v is refused and says %v", cmd, d.Facts)
		}
		return refusal.Code
	}
	if err != nil {
		i.t.Fatalf("%+v: %v", cmd, err)
	}
	if d.Empty() {
		return "nothing"
	}
	entry, err := eventlog.NewEntry(d.Transition(w, env), i.state.Head)
	if err != nil {
		i.t.Fatal(err)
	}
	stored, err := eventlog.Decode(entry.Stored)
	if err != nil {
		i.t.Fatal(err)
	}
	i.state, err = projections.Apply(i.state, &eventlog.Record{Position: eventlog.Position{Seq: i.state.Head.Seq + 1},
		Hash: entry.Hash(), Transition: stored})
	if err != nil {
		i.t.Fatal(err)
	}
	return ""
}

func tokenHash(n int) string { return fmt.Sprintf("%064x", n) }

// TestTokens: which callers may be let in, under which name; what is refused changes nothing.
func TestTokens(t *testing.T) {
	t.Parallel()
	i := newInstalled(t)
	of := func(name eventlog.TokenName, role eventlog.TokenRole, hash string) decide.CreateToken {
		return decide.CreateToken{Name: name, Role: role, Hash: hash, Last4: "WXYZ"}
	}
	for _, c := range []struct {
		what string
		cmd  decide.Command
		want string
	}{
		{"a worker looks before there is anything", decide.Recover{}, "nothing"},
		{"none to revoke", decide.RevokeToken{Name: "ci"}, "token.unknown"},
		{"the first", of("ci", eventlog.RoleOperator, tokenHash(7)), ""},
		{"another", decide.CreateToken{Name: "in", Role: eventlog.RoleIngest, Workflow: "shop", Hash: tokenHash(3),
			Last4: "ABCD"}, ""},
		{"each role", of("viewer", eventlog.RoleViewer, tokenHash(9)), ""},
		{"each role", of("admin", eventlog.RoleAdmin, tokenHash(1)), ""},
		{"a name in use", of("ci", eventlog.RoleViewer, tokenHash(8)), "token.exists"},
		{"a token in use", of("ci2", eventlog.RoleViewer, tokenHash(7)), "token.exists"},
		{"no name", of("", eventlog.RoleViewer, tokenHash(8)), "token.invalid"},
		{"no plain name", of("a b", eventlog.RoleViewer, tokenHash(8)), "token.invalid"},
		{"no role", of("x", "", tokenHash(8)), "token.invalid"},
		{"another role", of("x", "root", tokenHash(8)), "token.invalid"},
		{"the installation as a workflow", decide.CreateToken{Name: "x", Role: eventlog.RoleViewer,
			Workflow: eventlog.Installation, Hash: tokenHash(8)}, "token.invalid"},
		{"no hash", of("x", eventlog.RoleViewer, ""), "token.invalid"},
		{"a timer", decide.Tick{}, "nothing"},
		{"a restart", decide.Recover{}, "nothing"},
		{"a pause", decide.Pause{}, "workflow.unknown"},
		{"an archive", decide.Archive{}, "workflow.unknown"},
		{"a push", decide.Push{Topic: "a", Items: []decide.PushItem{{MessageID: "1"}}}, "workflow.unknown"},
		{"a deploy", decide.Deploy{Source: "x"}, "workflow.unknown"},
		{"grants", decide.SetGrants{}, "workflow.unknown"},
	} {
		if got := i.decides(eventlog.Installation, c.cmd); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if got := newInstalled(t).decides("shop", of("ci", eventlog.RoleViewer, tokenHash(1))); got != "token.misplaced" {
		t.Errorf("a token of a workflow: %q", got)
	}
	before := i.state
	token, ok := before.TokenOf(tokenHash(3))
	if !ok || token.Name != "in" || token.Role != eventlog.RoleIngest || token.Workflow != "shop" ||
		token.CreatedBy.Name != "ann" || token.CreatedAt == 0 || token.Last4 != "ABCD" {
		t.Errorf("%t %+v", ok, token)
	}
	for n := range 12 {
		if token, ok := before.TokenOf(tokenHash(n)); ok != (n == 1 || n == 3 || n == 7 || n == 9) {
			t.Errorf("hash %d: %t %+v", n, ok, token)
		}
	}
	if got := i.decides(eventlog.Installation, decide.RevokeToken{Name: "in"}); got != "" {
		t.Errorf("revoke: %q", got)
	}
	if _, ok := i.state.TokenOf(tokenHash(3)); ok {
		t.Error("a revoked token opens the engine")
	}
	if _, ok := before.TokenOf(tokenHash(3)); !ok || len(before.Tokens) != 4 || len(i.state.Tokens) != 3 {
		t.Error("a state that was read has changed")
	}
	if got := i.decides(eventlog.Installation, decide.RevokeToken{Name: "in"}); got != "token.unknown" {
		t.Errorf("revoke again: %q", got)
	}
	if got := i.decides(eventlog.Installation, of("in", eventlog.RoleViewer, tokenHash(4))); got != "" {
		t.Errorf("the name for a new token: %q", got)
	}
	for n := 0; ; n++ {
		got := i.decides(eventlog.Installation, of(eventlog.TokenName(fmt.Sprintf("t%d", n)), eventlog.RoleViewer,
			tokenHash(100+n)))
		if got != "" {
			if got != "token.tooMany" || len(i.state.Tokens) != 1000 {
				t.Errorf("%q with %d tokens", got, len(i.state.Tokens))
			}
			break
		}
	}
}

// What cannot follow is no token: the fold refuses it, and the installation's tokens count no more.
func TestTokensThatCannotFollow(t *testing.T) {
	t.Parallel()
	i := newInstalled(t)
	if got := i.decides(eventlog.Installation, decide.CreateToken{Name: "ci", Role: eventlog.RoleViewer,
		Hash: tokenHash(1)}); got != "" {
		t.Fatal(got)
	}
	for what, c := range map[string]struct {
		workflow eventlog.WorkflowName
		fact     eventlog.Fact
		want     string
	}{
		"the same name": {eventlog.Installation, &eventlog.TokenCreated{Name: "ci", Hash: tokenHash(2)}, "in use already"},
		"the same hash": {eventlog.Installation, &eventlog.TokenCreated{Name: "x", Hash: tokenHash(1)}, "in use already"},
		"unknown":       {eventlog.Installation, &eventlog.TokenRevoked{Name: "x"}, "not in use"},
		"of a workflow": {"shop", &eventlog.TokenCreated{Name: "x", Hash: tokenHash(2)}, "not to a workflow"},
		"revoked there": {"shop", &eventlog.TokenRevoked{Name: "ci"}, "not to a workflow"},
	} {
		state := i.state
		if c.workflow != eventlog.Installation {
			state = new(projections.State)
		}
		d := projections.NewDraft(state, eventlog.Transition{Workflow: c.workflow, At: 9}, 9)
		if err := d.Add(c.fact); !errors.Is(err, projections.ErrBroken) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

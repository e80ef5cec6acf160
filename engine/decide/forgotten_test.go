package decide_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Startup: where workflows may be lost with their names, one that has no past here is held at its first deploy, and its
// mutations ask unless a person says otherwise. One that is known is deployed as ever.
func TestStartup_DeployOfANameThatMayBeLost(t *testing.T) {
	t.Parallel()
	definition := pins(map[string]string{"m.send": "mutate", "m.get": "get"})
	for name, c := range map[string]struct {
		namesLost, known bool
		given            grants
		held             bool
		want             grants
	}{
		"nothing is lost": {want: grants{"m.send": allow, "m.get": allow}},
		"names are lost":  {namesLost: true, held: true, want: grants{"m.send": ask, "m.get": allow}},
		"names are lost, a word": {
			namesLost: true, given: grants{"m.send": allow}, held: true, want: grants{"m.send": allow},
		},
		"names are lost, not its": {namesLost: true, known: true, want: grants{"m.send": allow, "m.get": allow}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := new(projections.State)
			deploy := func(namesLost bool, hash string, given grants) {
				t.Helper()
				env := decide.Env{Now: 1, NamesLost: namesLost}
				command := decide.Deploy{Definition: definition, Source: hash, SourceHash: hash, GrantUsed: true, Grants: given}
				decision, err := decide.Decide(s, "w", env, command)
				if err != nil {
					t.Fatal(err)
				}
				entry, err := eventlog.NewEntry(decision.Transition("w", env), s.Head)
				if err != nil {
					t.Fatal(err)
				}
				next, err := eventlog.Decode(entry.Stored)
				if err == nil {
					s, err = projections.Apply(s, &eventlog.Record{Hash: entry.Hash(), Transition: next})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if c.known {
				deploy(false, "before", nil)
			}
			deploy(c.namesLost, "now", c.given)
			held := s.Blocked != nil && s.Blocked.Reason == eventlog.BlockLoss
			if held != c.held || held && !strings.Contains(s.Blocked.Message, "a workflow of this name may have been in it") {
				t.Errorf("held: %+v, want %v", s.Blocked, c.held)
			}
			if !maps.Equal(s.Grants, c.want) {
				t.Errorf("grants %v, want %v", s.Grants, c.want)
			}
			if s.CurrentRun() != nil && held {
				t.Error("a run began")
			}
			// Resumed, a new version is not held again.
			resumed := *s
			resumed.Blocked = nil
			s = &resumed
			deploy(c.namesLost, "later", nil)
			if s.Blocked != nil || slices.Contains(slices.Collect(maps.Values(s.Grants)), deny) {
				t.Errorf("deployed again: %+v, %v", s.Blocked, s.Grants)
			}
		})
	}
}

package decide_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/engine/capability"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

type grants = map[string]eventlog.Grant

const (
	allow = eventlog.GrantAllow
	ask   = eventlog.GrantAsk
	deny  = eventlog.GrantDeny
)

func pins(kinds map[string]string) eventlog.Definition {
	d := eventlog.Definition{Topics: []eventlog.Topic{"in"}}
	for _, capability := range slices.Sorted(maps.Keys(kinds)) {
		connector, operation, _ := strings.Cut(capability, ".")
		d.Operations = append(d.Operations, eventlog.Operation{Connector: connector, Operation: operation,
			Kind: kinds[capability], TimeoutMS: 1})
	}
	return d
}

// O9: what a deploy leaves a workflow allowed to do. The effect is what counts: what a person decided stays,
// and nothing that mutates begins to leave without having been allowed as a mutation.
func TestO9_DeployKeepsGrants(t *testing.T) {
	t.Parallel()
	first := map[string]string{"m.send": "mutate", "m.get": "get", "m.turned": "get"}
	for name, c := range map[string]struct {
		given grants // by a person, after a first deploy that allowed all it uses
		next  map[string]string
		with  grants // of the second deploy
		want  grants // of each operation of the second version
	}{
		"all that a first deploy uses": {nil, first, nil,
			grants{"m.send": allow, "m.get": allow, "m.turned": allow}},
		"an added mutation asks": {nil, map[string]string{"m.send": "mutate", "m.remove": "mutate"}, nil,
			grants{"m.send": allow, "m.remove": ask}},
		"an added read is allowed": {grants{}, map[string]string{"m.list": "list", "m.send": "mutate"}, nil,
			grants{"m.list": allow, "m.send": ask}},
		"a person's pattern covers what is added": {grants{"m.*": allow, "*": deny},
			map[string]string{"m.remove": "mutate", "x.list": "list"}, nil, grants{"m.remove": allow, "x.list": deny}},
		"a person's no stays": {grants{"m.send": deny}, first, nil,
			grants{"m.send": deny, "m.get": allow, "m.turned": allow}},
		"a read that now mutates asks": {nil, map[string]string{"m.turned": "mutate"}, nil,
			grants{"m.turned": ask}},
		"a denied read that now mutates is denied": {grants{"m.turned": deny}, map[string]string{"m.turned": "mutate"}, nil,
			grants{"m.turned": deny}},
		"a mutation that now reads stays allowed": {nil, map[string]string{"m.send": "get"}, nil, grants{"m.send": allow}},
		"grants of the deploy replace all": {grants{"m.get": deny}, first, grants{"*": ask},
			grants{"m.send": ask, "m.get": allow, "m.turned": allow}},
		"a mutation that the deploy allows by name": {nil, map[string]string{"m.turned": "mutate"}, grants{"m.turned": allow},
			grants{"m.turned": allow}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			must := func(cmd decide.Command) {
				t.Helper()
				if err := b.do(cmd); err != nil {
					t.Fatal(err)
				}
			}
			must(decide.Deploy{Definition: pins(first), SourceHash: "1", GrantUsed: true})
			if c.given != nil {
				must(decide.SetGrants{Grants: c.given})
			}
			before := maps.Clone(b.state.Grants)
			earlier := b.state
			must(decide.Deploy{Definition: pins(c.next), SourceHash: "2", Grants: c.with, GrantUsed: true})
			got := grants{}
			for name, kind := range c.next {
				connector, operation, _ := strings.Cut(name, ".")
				got[name] = capability.Granted(b.state.Grants, connector, operation, kind == "mutate")
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if !maps.Equal(before, earlier.Grants) {
				t.Errorf("the deploy changed the grants of the state before it: %v", earlier.Grants)
			}
		})
	}
}

// A change concerns the grants that it names, on the state at that moment; one that changes nothing is no
// transition.
func TestChangedGrantsLeaveTheOthers(t *testing.T) {
	t.Parallel()
	to := func(g eventlog.Grant) *eventlog.Grant { return &g }
	for name, c := range map[string]struct {
		was     grants
		changes map[string]*eventlog.Grant
		want    grants
	}{
		"another is set": {grants{"m.send": ask}, map[string]*eventlog.Grant{"m.get": to(deny)},
			grants{"m.send": ask, "m.get": deny}},
		"one is changed": {grants{"m.send": ask, "*": deny}, map[string]*eventlog.Grant{"m.send": to(allow)},
			grants{"m.send": allow, "*": deny}},
		"one is taken out": {grants{"m.send": ask, "*": deny}, map[string]*eventlog.Grant{"*": nil},
			grants{"m.send": ask}},
		"one that is not there": {grants{"m.send": ask}, map[string]*eventlog.Grant{"x.*": nil}, nil},
		"the same again":        {grants{"m.send": ask}, map[string]*eventlog.Grant{"m.send": to(ask)}, nil},
		"nothing":               {grants{"m.send": ask}, nil, nil},
		"the first of all":      {grants{}, map[string]*eventlog.Grant{"m.send": to(deny)}, grants{"m.send": deny}},
		"one set and one taken out": {grants{"m.send": ask}, map[string]*eventlog.Grant{"m.get": to(deny), "m.send": nil},
			grants{"m.get": deny}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for _, cmd := range []decide.Command{decide.Deploy{Definition: pins(map[string]string{"m.send": "mutate"}),
				SourceHash: "1"}, decide.SetGrants{Grants: c.was}} {
				if err := b.do(cmd); err != nil {
					t.Fatal(err)
				}
			}
			before := b.state
			if err := b.do(decide.ChangeGrants{Changes: c.changes}); err != nil {
				t.Fatal(err)
			}
			if c.want == nil {
				if b.state.Head != before.Head {
					t.Errorf("a transition was written: revision %d", b.state.Head.Revision)
				}
				return
			}
			if !maps.Equal(b.state.Grants, c.want) || b.state.Head.Revision != before.Head.Revision+1 {
				t.Errorf("got %v at revision %d, want %v one after %d", b.state.Grants, b.state.Head.Revision, c.want,
					before.Head.Revision)
			}
			if !maps.Equal(before.Grants, c.was) {
				t.Errorf("the state before has changed: %v", before.Grants)
			}
		})
	}
}

func TestGrantsOfAnArchivedWorkflowStay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, cmd := range []decide.Command{decide.Deploy{Definition: pins(nil), SourceHash: "1"}, decide.Archive{}} {
		if err := b.do(cmd); err != nil {
			t.Fatal(err)
		}
	}
	var refusal *decide.Refusal
	if err := b.do(decide.ChangeGrants{}); !errors.As(err, &refusal) || refusal.Code != "workflow.archived" {
		t.Errorf("got %v", err)
	}
}

// A script deployed where an accepted loss left none asks for every change: the events that were given up may have
// been handled, and their ids may be unknown. The grants that the deploy names are a person's word.
func TestGrantsOfADeployAfterALoss(t *testing.T) {
	for _, named := range []map[string]eventlog.Grant{nil, {"m.send": eventlog.GrantAllow}} {
		b := newBench(t)
		definition := pins(map[string]string{"m.send": "mutate", "m.list": "list"})
		for _, cmd := range []decide.Command{
			decide.AcceptLoss{Detail: "test"}, decide.Resume{}, decide.Deploy{Definition: definition, SourceHash: "1",
				Grants: named, GrantUsed: true},
		} {
			if err := b.do(cmd); err != nil {
				t.Fatal(err)
			}
		}
		want := eventlog.GrantAsk
		if named != nil {
			want = eventlog.GrantAllow
		}
		if got := capability.Granted(b.state.Grants, "m", "send", true); got != want {
			t.Errorf("deployed with %v: the change is granted as %s, want %s", named, got, want)
		}
		if got := capability.Granted(b.state.Grants, "m", "list", false); named == nil && got != eventlog.GrantAllow {
			t.Errorf("the read is granted as %s", got)
		}
	}
}

package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
	"github.com/pawl-run/pawl/sandbox"
)

// byOperator is the actor of all that operators do.
var byOperator = eventlog.Actor{Kind: "user", Name: "operator"}

// ask lets an operator ask an engine for something, while everything else goes on.
func (s *sim) ask(n *node, w *workflow, what string, do func(context.Context) error) {
	s.say("operator asks engine %d: %s %s", n.number, what, w.name)
	s.did("ask " + what)
	s.asking.Add(1)
	n.asks.Add(1)
	ctx, cancel := context.WithCancel(context.Background())
	s.hangUp = append(s.hangUp, cancel)
	go func() {
		defer s.asking.Done()
		ctx, recorded := engine.WithRecorded(ctx)
		err := do(ctx)
		n.asks.Add(-1)
		s.learned(w.name, recorded)
		var refusal *decide.Refusal
		if err != nil && !errors.As(err, &refusal) && !errors.Is(err, engine.ErrUnavailable) {
			s.violate("operator's %s on %s ended with %v", what, w.name, err)
		}
	}()
}

func (s *sim) command(n *node, w *workflow, what string, cmd decide.Command) {
	s.ask(n, w, what, func(ctx context.Context) error { return n.engine.Operate(ctx, byOperator, w.name, cmd, what) })
}

// giveUp lets the operator who asked last hang up, whether or not there was an answer.
func (s *sim) giveUp() {
	if last := len(s.hangUp) - 1; last >= 0 {
		s.hangUp[last]()
		s.hangUp = s.hangUp[:last]
		s.say("an operator hangs up")
		s.did("hang up")
	}
}

func (s *sim) push(n *node, w *workflow) {
	topic := s.topic()
	var items []decide.PushItem
	for range 1 + s.rng.IntN(3) {
		payload, _ := json.Marshal(s.rng.IntN(9))
		title := "From outside " + string(payload)
		if s.concurrent {
			payload = s.payload()
		}
		item := decide.PushItem{MessageID: s.messageID(), Title: title, Payload: payload}
		if strings.HasSuffix(string(item.MessageID), "5") { // without a draw, so that a seed's history stays what it is
			item.Traceparent = "trace of " + string(item.MessageID)
		}
		items = append(items, item)
	}
	s.ask(n, w, "push", func(ctx context.Context) error {
		_, err := n.engine.Push(ctx, byOperator, w.name, topic, items)
		if err == nil {
			s.mu.Lock()
			for _, item := range items {
				s.acked = append(s.acked, place{w.name, eventlog.EventRef{Topic: topic, MessageID: item.MessageID}})
			}
			s.mu.Unlock()
		}
		return err
	})
}

// resubscribe takes the consumer of topic b away, or gives it back.
func (s *sim) resubscribe(n *node, w *workflow) {
	w.widely = !w.widely
	p := program{Name: string(w.name), Version: w.versions + 1, Shape: 2}
	if w.widely {
		p.Shape = 0
	}
	s.declareConcurrency(&p)
	w.versions++
	s.did("resubscribe")
	s.install(n, w, p)
}

func (s *sim) deploy(n *node, w *workflow) { s.install(n, w, s.program(w)) }

func (s *sim) install(n *node, w *workflow, p program) {
	req := engine.DeployRequest{Source: p.source(), Filename: "simulated.js", GrantUsed: true}
	if s.chance(0.4) {
		req.Grants = map[string]eventlog.Grant{"world.send": pick(s, eventlog.GrantAllow, eventlog.GrantAsk,
			eventlog.GrantDeny), "*": eventlog.GrantAllow}
	}
	s.ask(n, w, "deploy", func(ctx context.Context) error {
		result, err := n.engine.Deploy(ctx, byOperator, req)
		if result.Refused && !slices.ContainsFunc(result.Problems, func(p deploy.Problem) bool {
			return p.Code == deploy.CodeConnector
		}) {
			return fmt.Errorf("the simulated script was refused: %+v", result.Problems)
		}
		return err
	})
}

// repair proposes a minor version that keeps everything.
func (s *sim) repair(n *node, w *workflow, state *projections.State) {
	script := state.Script(state.Version)
	if script == nil {
		return
	}
	var p program
	if err := json.Unmarshal([]byte(script.Source), &p); err != nil {
		s.violate("version %s of %s is not what was deployed", state.Version, w.name)
		return
	}
	w.versions++
	p.Version, p.Broken = w.versions, s.chance(0.3)
	version := state.Version
	s.command(n, w, "repair", decide.Deploy{
		Definition: script.Definition, Filename: script.Filename, Source: p.source(),
		SourceHash: eventlog.HashOf([]byte(p.source())).String(),
		Expected:   &version, Repair: true, Note: "repaired",
	})
}

// change does something to topic events, of which some do not exist.
func (s *sim) change(n *node, w *workflow) {
	topic := s.topic()
	state := s.judge.book(w.name).state()
	var there, reserved []eventlog.EventRef
	for _, e := range state.Events() {
		ref := eventlog.EventRef{Topic: e.Topic, MessageID: e.MessageID}
		if e.Status != eventlog.EventStatusConsumed {
			there = append(there, ref)
		}
		if e.Status == eventlog.EventStatusReserved {
			reserved = append(reserved, ref)
		}
	}
	var refs []eventlog.EventRef
	for range 1 + s.rng.IntN(3) {
		if len(there) > 0 && s.chance(0.7) {
			refs = append(refs, pick(s, there...))
			continue
		}
		refs = append(refs, eventlog.EventRef{Topic: topic,
			MessageID: eventlog.MessageID(fmt.Sprintf("e%d", 1+s.rng.IntN(s.ids+1)))})
	}
	if len(reserved) > 0 && s.chance(0.4) { // where a skip has most to look at (O7)
		ref := pick(s, reserved...)
		s.command(n, w, "skip", decide.SkipEvent{Topic: ref.Topic, MessageID: ref.MessageID, Reason: "not wanted"})
		return
	}
	ref := refs[0]
	switch s.rng.IntN(4) {
	case 0:
		s.command(n, w, "skip", decide.SkipEvent{Topic: ref.Topic, MessageID: ref.MessageID, Reason: "not wanted"})
	case 1:
		s.command(n, w, "cancel", decide.CancelJob{Topic: ref.Topic, MessageID: ref.MessageID})
	case 2:
		s.command(n, w, "redrive", decide.RedriveJob{Topic: ref.Topic, MessageID: ref.MessageID,
			IncludingUnknown: s.chance(0.7)})
	default:
		s.command(n, w, "bulk",
			decide.ChangeEvents{Action: pick(s, decide.ActionSkip, decide.ActionCancel, decide.ActionRedrive), Items: refs,
				IncludingUnknown: s.chance(0.7)})
	}
}

// mutation is the one that something waits for, or any, or none.
func (s *sim) mutation(state *projections.State) eventlog.MutationID {
	runs := append([]*projections.Run{state.RetryRun(), state.CurrentRun()}, slices.Collect(state.OpenRuns())...)
	for _, run := range runs {
		if run != nil && run.Mutation != "" && s.chance(0.9) {
			return run.Mutation
		}
	}
	if r := s.world.order; len(r) > 0 && s.chance(0.8) {
		return eventlog.MutationID(pick(s, r...).call.Run)
	}
	return "nobody"
}

// redeploy puts a script in place that works and keeps what is there.
func (s *sim) redeploy(n *node, w *workflow, state *projections.State) {
	p, err := parse(sourceOf(state))
	if err != nil {
		s.violate("version %s of %s is not what was deployed", state.Version, w.name)
		return
	}
	w.versions++
	p.Version, p.Broken = w.versions, false
	s.ask(n, w, "redeploy", func(ctx context.Context) error {
		_, err := n.engine.Deploy(ctx, byOperator, engine.DeployRequest{Source: p.source(), Filename: "simulated.js",
			GrantUsed: true})
		return err
	})
}

func sourceOf(state *projections.State) sandbox.Source {
	if script := state.Script(state.Version); script != nil {
		return sandbox.Source{Filename: script.Filename, Code: script.Source}
	}
	return sandbox.Source{}
}

// readAfter has a client read through any engine, and checks that it sees no less than it has seen before.
func (s *sim) readAfter(n *node, w *workflow) {
	s.ask(n, w, "read", func(ctx context.Context) error {
		s.sharing.mu.Lock()
		known := maps.Clone(s.sharing.clients)
		s.sharing.mu.Unlock()
		before, ok := known[w.name]
		if !ok {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		after := before
		if s.cfg.After != nil {
			after = s.cfg.After(after)
		}
		if err := n.engine.AwaitPositions(ctx, after); err != nil {
			return err
		}
		state, _ := n.engine.State(w.name)
		if state.Head.Seq < before.Seq {
			s.violate("a client that has seen %s up to %s reads it from engine %d up to %d", w.name, before, n.number,
				state.Head.Seq)
		}
		s.seen(w.name, eventlog.Position{Partition: before.Partition, Seq: state.Head.Seq})
		return nil
	})
}

// learned takes in what a client was answered.
func (s *sim) learned(w eventlog.WorkflowName, recorded *engine.Recorded) {
	if s.sharing == nil {
		return
	}
	for _, at := range recorded.Positions() {
		s.seen(w, at)
	}
}

// seen takes in how far a client has seen the workflow.
func (s *sim) seen(w eventlog.WorkflowName, at eventlog.Position) {
	s.sharing.mu.Lock()
	defer s.sharing.mu.Unlock()
	if at.Seq > s.sharing.clients[w].Seq {
		s.sharing.clients[w] = at
	}
}

package decide_test

import (
	"fmt"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// aside is what the outside, people and machines do beside the work.
func (l *life) aside() {
	m := eventlog.MutationID(fmt.Sprintf("R%d", l.int("mutation", 1, max(1, l.runs))))
	if run := l.state.RetryRun(); run != nil && l.chance(70) {
		m = run.Mutation
	} else if run := l.state.CurrentRun(); run != nil && l.chance(70) {
		m = run.Mutation
	}
	switch l.int("aside", 0, 17) {
	case 0, 1, 2, 3:
		l.push()
	case 4:
		l.deploy()
	case 5:
		_ = l.step(decide.Pause{})
	case 6, 7:
		_ = l.step(decide.Resume{})
	case 8:
		_ = l.step(decide.RunNow{})
	case 9:
		_ = l.step(decide.Resolve{Mutation: m,
			Resolution: decide.Resolution(l.pick("resolution", "did_happen", "did_not_happen", "skip", "try_again"))})
	case 10:
		if err := l.step(decide.Approve{Mutation: m}); err == nil && l.chance(50) {
			l.restart()
		}
	case 11:
		_ = l.step(decide.Reject{Mutation: m, Comment: "not this one"})
	case 12, 13:
		l.change()
	case 14:
		l.restart()
	case 15:
		l.settle(m, eventlog.ResolvedByLateReply)
	case 16:
		l.now = l.now.Add(time.Duration(l.int("minutes", -1, 90)) * time.Minute)
		_ = l.step(decide.Tick{})
	default:
		switch l.int("rare", 0, 4) {
		case 0:
			if l.hold != decide.NoStandstill {
				l.hold = decide.NoStandstill
			} else {
				l.hold = decide.EngineStandstill + decide.Standstill(l.seq%2)
			}
			_ = l.step(decide.Tick{})
		case 1:
			_ = l.step(decide.RepairRefused{Reason: "no"})
		case 2:
			_ = l.step(decide.FailRun{Run: l.state.Current})
		case 3:
			if l.chance(30) {
				l.lose()
			}
			_ = l.step(decide.SetGrants{Grants: map[string]eventlog.Grant{"*": eventlog.Grant(l.pick("grant", "allow", "ask",
				"deny"))}})
		default:
			if l.chance(10) {
				_ = l.step(decide.Archive{})
			}
		}
	}
}

// lose is a loss that a person accepts: an event and a call are known of what is given up.
func (l *life) lose() {
	remains := &decide.Remains{Whole: l.chance(30)}
	l.ids++
	id := eventlog.MessageID(fmt.Sprintf("e%d", l.ids))
	remains.Saw(&eventlog.EventPublished{Topic: "in", MessageID: id, Title: "lost"}, l.now)
	remains.Saw(&eventlog.MutationStarted{Mutation: eventlog.MutationID("lost" + id), Run: "lost",
		Call: eventlog.MutationCall{Connector: "c", Operation: "o"}}, l.now)
	if l.chance(50) {
		remains.Saw(&eventlog.EventConsumed{Topic: "in", MessageID: id, Run: "lost"}, l.now)
	}
	hold := l.hold
	l.hold = decide.EngineStandstill // no engine runs
	if err := l.step(decide.AcceptLoss{Detail: "test", Remains: remains}); err != nil {
		l.t.Fatalf("a loss is not accepted: %v", err)
	}
	l.hold = hold
	l.restart() // what it leaves waiting is looked at by the engine that starts then (S6)
}

func (l *life) push() {
	c := decide.Push{Topic: eventlog.Topic(l.pick("topic", "in", "in", "out", "free"))}
	for range l.int("items", 1, 3) {
		l.ids++
		id := l.ids
		if l.chance(30) {
			id = l.int("id", 1, l.ids)
		}
		item := decide.PushItem{MessageID: eventlog.MessageID(fmt.Sprintf("e%d", id)), Title: fmt.Sprint("T", l.ids)}
		if l.ids%5 == 0 {
			item.Traceparent = fmt.Sprint("trace ", l.ids)
		}
		c.Items = append(c.Items, item)
	}
	_ = l.step(c)
}

// change skips, cancels or redrives something there is, or is not.
func (l *life) change() {
	topic := l.pick("topic", "in", "in", "out", "free")
	var items []eventlog.EventRef
	for range l.int("items", 1, 3) {
		items = append(items, eventlog.EventRef{Topic: eventlog.Topic(topic),
			MessageID: eventlog.MessageID(fmt.Sprintf("e%d", l.int("id", 1, l.ids+1)))})
	}
	ref := items[0]
	switch l.int("change", 0, 3) {
	case 0:
		_ = l.step(decide.SkipEvent{Topic: ref.Topic, MessageID: ref.MessageID})
	case 1:
		_ = l.step(decide.CancelJob{Topic: ref.Topic, MessageID: ref.MessageID})
	case 2:
		_ = l.step(decide.RedriveJob{Topic: ref.Topic, MessageID: ref.MessageID})
	default:
		_ = l.step(decide.ChangeEvents{Action: decide.EventAction(l.pick("action", "skip", "cancel", "redrive")),
			Items: items})
	}
}

func (l *life) restart() {
	c := decide.Recover{}
	if l.chance(70) {
		l.engine = fmt.Sprintf("E%d", l.seq+2)
	} else {
		c.Found = l.state.Head.Revision
	}
	_ = l.step(c)
}

package decide

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// RepairRefused says that a repair was not accepted: it counts as a failure of the script, or a repairer could try
// forever (F9). A repair is judged in three steps: Engine.Repair (engine/deploy.go) asks whether one is wanted,
// engine/deploy/redeploy.go judges the script, and Deploy.allowed (deploy.go) judges it once more when it is recorded.
// What is refused is counted here.
type RepairRefused struct{ Reason string }

func (RepairRefused) names(*projections.State, func(projections.Key)) {}

// decide of RepairRefused is F9: a refused repair counts too. Outside maintenance there was
// nothing to repair, and nothing counts.
func (c RepairRefused) decide(d *decision) error {
	s := d.state()
	if !RepairWanted(s) {
		return RefuseNotRequested(s, d.env.Policies.Repair.Budget)
	}
	for _, consumer := range s.Definition().Consumers {
		if consumer.Concurrent() && s.HeldFor(consumer, eventlog.HeldRepair) > 0 {
			d.countRepair(consumer.Name)
		}
	}
	if s.Maintenance != nil {
		d.escalate(s.Maintenance.Run, "a repair was refused: "+c.Reason)
	}
	return nil
}

// RefuseNotRequested is the refusal of a repair that nothing waits for, or that comes after the last of the budget.
func RefuseNotRequested(s *projections.State, budget int) *Refusal {
	if RepairsSpent(s, budget) {
		return refuseSpent(s)
	}
	return refuse(Conflict, "repair.notRequested", "workflow %s is not in maintenance: there is nothing to repair",
		s.Name).hint(hint.DeployInstead)
}

// RepairsSpent reports whether the workflow, or an event of it, has failed so often after repairs that only a person
// lets it go on (F9, C5).
func RepairsSpent(s *projections.State, budget int) bool {
	if s.Blocked != nil && s.Blocked.Reason == eventlog.BlockLogic {
		return true
	}
	if s.Maintenance == nil && s.RepairFailures >= budget {
		return true // another hold stands before this one
	}
	return slices.ContainsFunc(s.Definition().Consumers, func(c eventlog.Consumer) bool {
		h := s.Handler(c.Name)
		return c.Concurrent() && h != nil && h.RepairFailures >= budget && s.HeldFor(c, eventlog.HeldPerson) > 0
	})
}

func refuseSpent(s *projections.State) *Refusal {
	return refuse(Conflict, "repair.spent", "workflow %s has failed again after its last repair, and the budget of "+
		"repairs is spent: a person has to look at it first", s.Name).hint(hint.PersonLooks, s.Name, s.Name)
}

// countDeployAsRepair counts a model's deploy against the budget of each concurrent consumer that has events held for a
// repair: it is tried on them as a repair is. A plain handler's failure counts by itself (F9, C5).
func (d *decision) countDeployAsRepair() {
	s := d.state()
	for _, c := range s.Definition().Consumers {
		if h := s.Handler(c.Name); c.Concurrent() && h != nil && s.HeldFor(c, eventlog.HeldRepair) > 0 {
			d.emit(&eventlog.HandlerRepairCounted{Handler: c.Name, Failures: h.RepairFailures + 1})
		}
	}
}

// RepairWanted reports whether the workflow, or an event of it, waits for a repair (F7, C5).
func RepairWanted(s *projections.State) bool {
	for _, n := range s.Counts.Held {
		if n.Reason == eventlog.HeldRepair {
			return true
		}
	}
	return s.Maintenance != nil
}

// endMaintenance lets runs start again. An operator's plain redeploy also resets the budget, and
// is what the hold of a spent one was waiting for (F9).
func (d *decision) endMaintenance(plain bool) {
	s := d.state()
	if s.Maintenance != nil {
		d.emit(&eventlog.MaintenanceLeft{})
	}
	if plain && s.RepairFailures > 0 {
		d.emit(&eventlog.RepairCounted{})
	}
	if plain {
		d.restartBudgets()
		d.unblock(eventlog.BlockLogic)
	}
}

// escalate counts one more failure of the script or of its repair, and gives up on repairs when
// the budget is spent (F9).
func (d *decision) escalate(run eventlog.RunID, last string) bool {
	failures := d.state().RepairFailures + 1
	d.emit(&eventlog.RepairCounted{Failures: failures})
	if failures < d.env.Policies.Repair.Budget {
		return false
	}
	if d.state().Maintenance != nil {
		d.emit(&eventlog.MaintenanceLeft{})
	}
	d.block(eventlog.BlockLogic, run, "the script failed %s in a row, the last: %s", eventlog.Count(failures, "time"),
		last)
	return true
}

// countedBefore marks the handler whose failure was counted before one of another handler: the count then ends with a
// success of both, or a script that breaks now the one and now the other would never spend its budget (F9).
func (d *decision) countedBefore(failing eventlog.Handler) {
	s := d.state()
	last := s.Handler(s.RepairHandler)
	if s.RepairFailures > 0 && last != nil && last.Name != failing && last.RepairFailures == 0 {
		d.emit(&eventlog.HandlerRepairCounted{Handler: last.Name, Failures: 1})
	}
}

// repaired ends the failures in a row once what has failed works again (F9): at a commit of the handler that failed
// last, if those that had failed before it have committed since. Every repair makes all handlers run, so the success of
// another one proves nothing. Nor does that a handler is gone: a person ends the count then.
func (d *decision) repaired(run *projections.Run, taken int) {
	s := d.state()
	h := s.Handler(run.Handler)
	if s.RepairFailures == 0 || h == nil || d.err != nil || !d.worked(run, taken) {
		return
	}
	if h.RepairFailures > 0 && run.Event == nil {
		d.emit(&eventlog.HandlerRepairCounted{Handler: h.Name})
	}
	if s = d.state(); h.Name != s.RepairHandler && s.RepairHandler != "" {
		return
	}
	for name, other := range s.Handlers() {
		if c, ok := s.Definition().Consumer(name); other.RepairFailures > 0 && !(ok && c.Concurrent()) {
			return
		}
	}
	d.emit(&eventlog.RepairCounted{})
}

// worked reports whether a committed run has done what its handler is for. One that took nothing, although events were
// waiting, may only have looked away from what it fails on.
func (d *decision) worked(run *projections.Run, taken int) bool {
	if run.Type == eventlog.ProducerHandler || run.RetryOf != "" {
		return true
	}
	if run.Event != nil {
		return !run.Empty
	}
	_, waits := oldestVisible(d.state(), d.consumer(run), d.env.Now)
	return taken > 0 || !waits
}

// CodeRepair is the code of what a repair may not change.
const CodeRepair = "repair.forbidden"

// Kept is something that a repair changes and has to keep (F9, C9): a deploy may change it.
type Kept struct {
	// Path is where it stands in the script's definition, as in consumers, pay, rate.
	Path []string
	// Message says what the repair changes, from what to what.
	Message string
	// Keep says what to write; empty where it is to be as it was.
	Keep string
}

// member is one setting of a handler or hook, as an author writes it; written is empty where the definition has none.
type member struct{ name, written string }

// KeptByRepair lists what a repair that makes now of before may not change (F9, C9): topics and subscriptions; which
// producers and hooks there are, when a producer runs and what a hook lets in; where handlers publish, how often an
// event is tried, which calls a person approves, where what is discarded goes, what mutate may read, and how many runs
// there are at once, in which order and how often.
func KeptByRepair(before, now *eventlog.Definition) []Kept {
	kept := keptTopics(before, now)
	kept = append(kept, keptHooks(before, now)...)
	kept = append(kept, keptSubscriptions(before, now)...)
	kept = append(kept, keptProducers(before, now)...)
	for _, c := range now.Consumers {
		if was, ok := before.Consumer(c.Name); ok {
			kept = append(kept, keptMembers("consumer", c.Name, consumerMembers(was), consumerMembers(c))...)
		}
	}
	return kept
}

// refuseKept refuses a repair that changes what it has to keep.
func refuseKept(s *projections.State, def *eventlog.Definition) *Refusal {
	kept := KeptByRepair(s.Definition(), def)
	if len(kept) == 0 {
		return nil
	}
	return refuse(Invalid, CodeRepair, "%s", kept[0].Message).hint(hint.DeployInstead)
}

func keptTopics(before, now *eventlog.Definition) (kept []Kept) {
	for _, topic := range before.Topics {
		if !now.HasTopic(topic) {
			kept = append(kept, Kept{Path: []string{"topics"},
				Message: fmt.Sprintf("a repair may not remove topic %q", topic)})
		}
	}
	for _, topic := range now.Topics {
		if !before.HasTopic(topic) {
			kept = append(kept, Kept{Path: []string{"topics", string(topic)}, Keep: "leave it out",
				Message: fmt.Sprintf("a repair may not add topic %q", topic)})
		}
	}
	return kept
}

// keptHooks keeps what requests a hook lets in, and at which address.
func keptHooks(before, now *eventlog.Definition) (kept []Kept) {
	for _, old := range before.Hooks {
		h, ok := now.Hook(old.Name)
		if !ok {
			kept = append(kept, Kept{Path: []string{"hooks"},
				Message: fmt.Sprintf("a repair may not remove hook %q", old.Name)})
			continue
		}
		kept = append(kept, keptMembers("hook", old.Name, hookMembers(old), hookMembers(h))...)
	}
	for _, h := range now.Hooks {
		if _, ok := before.Hook(h.Name); !ok {
			kept = append(kept, Kept{Path: []string{"hooks", string(h.Name)}, Keep: "leave it out",
				Message: fmt.Sprintf("a repair may not add hook %q", h.Name)})
		}
	}
	return kept
}

func keptSubscriptions(before, now *eventlog.Definition) (kept []Kept) {
	was, is := subscriptionsOf(before), subscriptionsOf(now)
	for _, topic := range slices.Sorted(maps.Keys(was)) {
		if is[topic] != was[topic] {
			kept = append(kept, Kept{Path: []string{"consumers", string(was[topic]), "subscribe"},
				Message: fmt.Sprintf("a repair may not take topic %q from consumer %q", topic, was[topic])})
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(is)) {
		if was[topic] == "" {
			kept = append(kept, Kept{Path: []string{"consumers", string(is[topic]), "subscribe"},
				Message: fmt.Sprintf("a repair may not subscribe consumer %q to topic %q", is[topic], topic)})
		}
	}
	return kept
}

// subscriptionsOf maps each topic to its consumer.
func subscriptionsOf(d *eventlog.Definition) map[eventlog.Topic]eventlog.Handler {
	of := make(map[eventlog.Topic]eventlog.Handler)
	for _, consumer := range d.Consumers {
		for _, topic := range consumer.Subscribe {
			of[topic] = consumer.Name
		}
	}
	return of
}

func keptProducers(before, now *eventlog.Definition) (kept []Kept) {
	for _, old := range before.Producers {
		if _, ok := now.Producer(old.Name); !ok {
			kept = append(kept, Kept{Path: []string{"producers"},
				Message: fmt.Sprintf("a repair may not remove producer %q", old.Name)})
		}
	}
	for _, p := range now.Producers {
		old, ok := before.Producer(p.Name)
		if !ok {
			kept = append(kept, Kept{Path: []string{"producers", string(p.Name)}, Keep: "leave it out",
				Message: fmt.Sprintf("a repair may not add producer %q", p.Name)})
			continue
		}
		kept = append(kept, keptMembers("producer", p.Name, producerMembers(old), producerMembers(p))...)
	}
	return kept
}

// keptMembers compares two lists of the same members.
func keptMembers[S ~string](kind string, of S, before, now []member) (kept []Kept) {
	or := func(written string) string {
		if written == "" {
			return "none"
		}
		return written
	}
	for i, was := range before {
		if now[i].written == was.written {
			continue
		}
		keep := "leave " + was.name + " out"
		if was.written != "" {
			keep = "write " + was.name + ": " + was.written
		}
		kept = append(kept, Kept{Path: []string{kind + "s", string(of), was.name}, Keep: keep,
			Message: fmt.Sprintf("a repair may not change %s of %s %q from %s to %s", was.name, kind, of, or(was.written),
				or(now[i].written))})
	}
	return kept
}

func hookMembers(h eventlog.Hook) []member {
	verify, _ := json.Marshal(h.Verify)
	challenge := ""
	if h.Respond != nil {
		challenge = written(h.Respond.Challenge) // a request that is answered with it becomes no event
	}
	// With another id a request that is sent again would be another event, and its effect would happen twice.
	return []member{{"topic", written(string(h.Topic))}, {"verify", string(verify)}, {"id", written(h.ID)},
		{"challenge", challenge}}
}

func producerMembers(p eventlog.Producer) []member {
	interval, onDeploy := "", ""
	if p.IntervalMS != 0 {
		interval = written(intervalText(p.Interval()))
	}
	if p.RunOnDeploy {
		onDeploy = "true"
	}
	return []member{{"interval", interval}, {"cron", written(p.Cron)}, {"timezone", written(p.Timezone)},
		{"runOnDeploy", onDeploy}, {"publishes", topicsText(p.Publishes, p.PublishesDeclared)}}
}

// intervalText writes an interval as an author does, without the units that are zero: 5m, 1h30m.
func intervalText(d time.Duration) string {
	text := ""
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if n := d / unit.of; n > 0 {
			text += strconv.FormatInt(int64(n), 10) + unit.name
			d -= n * unit.of
		}
	}
	return text
}

func consumerMembers(c eventlog.Consumer) []member {
	reads, attempts, concurrency, approval := "", "", "", written(string(c.Approval))
	if c.MutateReadsByID {
		reads = `"byId"`
	}
	if c.MaxAttempts != nil {
		attempts = strconv.Itoa(*c.MaxAttempts)
	}
	if c.Concurrency != 0 {
		concurrency = strconv.Itoa(c.Concurrency)
	}
	if c.Approval == eventlog.ApprovalByScript {
		approval = "(prepared) => …"
	}
	return []member{{"publishes", topicsText(c.Publishes, c.PublishesDeclared)}, {"mutateReads", reads},
		{"maxAttempts", attempts}, {"concurrency", concurrency}, {"key", written(c.Key)}, {"rate", written(c.Rate)},
		{"approval", approval}, {"deadLetter", written(string(c.DeadLetter))}}
}

// topicsText writes the topics that a handler declares; their order says nothing.
func topicsText(topics []eventlog.Topic, declared bool) string {
	if !declared {
		return ""
	}
	text, _ := json.Marshal(slices.Sorted(slices.Values(topics)))
	if len(topics) == 0 {
		return "[]"
	}
	return string(text)
}

// written is a text as an author writes it; empty where there is none.
func written(text string) string {
	if text == "" {
		return ""
	}
	return strconv.Quote(text)
}

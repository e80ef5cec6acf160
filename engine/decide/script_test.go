package decide_test

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/engine/schedule"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// TestRules runs the rules' examples, one file per rule under testdata/rules. In a file, `given` makes a
// new workflow and runs commands that must succeed, `when` runs commands and shows the facts or
// the refusal of each, `then` shows what it names. -rewrite writes what was shown into the files:
// commit such a change only if the rule says so.
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		var b *bench
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			if td.Cmd == "given" || b == nil {
				b = newBench(t)
			}
			b.t = t
			var out []string
			for line := range strings.Lines(td.Input) {
				line = strings.TrimSpace(line)
				switch td.Cmd {
				case "given", "and":
					if err := b.command(line); err != nil {
						t.Fatalf("%s: %s: %v", td.Pos, line, err)
					}
				case "when":
					b.decided = false
					err := b.command(line)
					out = append(out, "-- "+line)
					if b.decided {
						out = append(out, b.outcome(err)...)
					} else if err != nil {
						t.Fatalf("%s: %s: %v", td.Pos, line, err)
					}
				case "then":
					out = append(out, b.look(line))
				default:
					t.Fatalf("%s: no directive %q", td.Pos, td.Cmd)
				}
			}
			if len(out) == 0 {
				return ""
			}
			return strings.Join(out, "\n") + "\n"
		})
	})
}

func (b *bench) outcome(err error) []string {
	var refusal *decide.Refusal
	switch {
	case errors.As(err, &refusal):
		return []string{"refused: " + refusal.Code}
	case errors.Is(err, decide.ErrStale):
		return []string{"stale"}
	case errors.Is(err, decide.ErrPrepareAgain):
		return []string{"prepare again"}
	case b.last.Empty() && b.last.Bulk == nil:
		return []string{"nothing"}
	}
	var out []string
	if b.last.Bulk != nil {
		out = append(out, fmt.Sprintf("updated %d", b.last.Bulk.Updated))
		if n := b.last.Bulk.AtRunEnd; n > 0 {
			out = append(out, fmt.Sprintf("of them %d at the end of the run", n))
		}
		for _, no := range b.last.Bulk.Noop {
			out = append(out, fmt.Sprintf("noop %s/%s: %s", no.Topic, no.MessageID, no.Reason))
		}
	}
	for _, f := range b.last.Facts {
		out = append(out, brief(f, b.now))
	}
	for _, w := range b.last.Warnings {
		out = append(out, "warning: "+w)
	}
	return append(out, queued(b.last.Queued, b.now)...)
}

// queued shows what a run-now answers, a line for each producer (S5).
func queued(q *decide.Queued, now eventlog.Instant) (out []string) {
	if q == nil {
		return nil
	}
	for _, p := range q.Producers {
		if p == q.Running {
			out = append(out, fmt.Sprintf("%s runs now", p))
		} else {
			out = append(out, fmt.Sprintf("%s is queued behind %s", p, briefTodo(q.First, now)))
		}
	}
	return out
}

// words are a command's: the verb, bare words, and key=value pairs.
type words struct {
	verb  string
	bare  []string
	named map[string]string
}

func split(line string) words {
	w := words{named: map[string]string{}}
	for i, f := range strings.Fields(line) {
		k, v, pair := strings.Cut(f, "=")
		switch {
		case i == 0:
			w.verb = f
		case pair:
			w.named[k] = v
		default:
			w.bare = append(w.bare, f)
		}
	}
	return w
}

func (w words) has(word string) bool {
	for _, b := range w.bare {
		if b == word {
			return true
		}
	}
	return false
}

func (w words) first() string {
	if len(w.bare) == 0 {
		return ""
	}
	return w.bare[0]
}

// retryAfter reads `retry-after=1m` (F13).
func (w words) retryAfter() time.Duration {
	d, _ := time.ParseDuration(w.named["retry-after"])
	return d
}

// failure reads `fail CLASS`, with `code=` where that matters.
func (w words) failure() *eventlog.Failure {
	if w.first() != "fail" || len(w.bare) < 2 {
		return nil
	}
	return &eventlog.Failure{Class: eventlog.Class(w.bare[1]), Code: cmp.Or(w.named["code"], "test."+w.bare[1]),
		Message: "it failed", RetryAfter: w.retryAfter()}
}

// told reads a failure's message from `name=some_words`; `name=long:X` is one as long as the log takes.
func (w words) told(name string) *eventlog.Failure {
	text, ok := w.named[name]
	if !ok {
		return nil
	}
	message := strings.ReplaceAll(text, "_", " ")
	if letter, long := strings.CutPrefix(text, "long:"); long {
		message = strings.Repeat(letter, eventlog.MaxMessage/len(letter))
	}
	return &eventlog.Failure{Class: eventlog.Transient, Code: "test." + name, Message: message}
}

// refs reads `topic/id`; a bare id is one of topic in.
func refs(list []string) []eventlog.EventRef {
	var out []eventlog.EventRef
	for _, s := range list {
		topic, id, ok := strings.Cut(s, "/")
		if !ok {
			topic, id = "in", s
		}
		out = append(out, eventlog.EventRef{Topic: eventlog.Topic(topic), MessageID: eventlog.MessageID(id)})
	}
	return out
}

func csv(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func (b *bench) command(line string) error {
	w := split(line)
	current := b.state.Current
	if r, ok := w.named["run"]; ok {
		current = eventlog.RunID(r)
	}
	switch w.verb {
	case "policy":
		return b.policy(w)
	case "after":
		d, err := time.ParseDuration(w.first())
		if err != nil {
			return err
		}
		b.now = b.now.Add(d)
		return nil
	case "engine":
		b.engine = w.first()
		return nil
	case "unseen":
		d, err := time.ParseDuration(w.first())
		b.unseen = d
		return err
	case "open":
		b.open = w.first() == "yes"
		return nil
	case "asks":
		within, err := time.ParseDuration(w.named["resend"])
		if w.named["resend"] == "" {
			err = nil
		}
		b.asking = &decide.Asking{Present: w.first() != "gone", Reconciles: w.first() == "yes", Resends: within}
		return err
	case "hold":
		b.hold = map[string]decide.Standstill{"on": decide.EngineStandstill, "damage": decide.DamageStandstill}[w.first()]
		return nil
	case "older-asked": // as version 1 recorded it: attempts were counted whether the call was open or not
		return b.olderAsked(eventlog.MutationID(w.first()), w.named["attempts"])
	case "cut":
		b.cut()
		return nil
	case "page-out": // what waits is in the store alone
		b.state = b.state.PageOut(projections.Window{}, func(projections.Key) bool { return true })
		return nil
	case "accept-loss":
		return b.acceptLoss(w)
	case "peek": // what a prepare that is under way has seen
		b.seen = b.state
		return nil
	}
	cmd, err := b.outcomeCommand(w, current)
	if cmd == nil && err == nil {
		cmd, err = operatorCommand(w)
	}
	if err != nil {
		return err
	}
	if w.verb == "deploy" {
		return b.do(definition(w))
	}
	if cmd == nil {
		return fmt.Errorf("no command %q", w.verb)
	}
	return b.do(cmd)
}

func (b *bench) olderAsked(id eventlog.MutationID, attempts string) error {
	n, err := strconv.Atoi(attempts)
	if err != nil {
		return err
	}
	fact := &eventlog.MutationReconcileScheduled{Mutation: id, Attempt: n, At: b.now, Failure: *b.mutation(id).Failure}
	facts := []eventlog.Fact{fact}
	t := eventlog.Transition{Workflow: workflow, At: b.now, Kind: fact.FactType(), Facts: facts}
	b.append(b.state, t, nil)
	return nil
}

func (b *bench) policy(w words) error {
	for k, v := range w.named {
		switch k {
		case "then":
			b.policies.Transient.Then = schedule.Then(v)
			continue
		case "max":
			longest, err := time.ParseDuration(v)
			if err != nil {
				return err
			}
			b.policies.Transient.Max = longest
			continue
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			return err
		}
		switch k {
		case "retries":
			b.policies.Transient.Retries = n
		case "attempts":
			b.policies.Reconcile.Attempts = n
		case "budget":
			b.policies.Repair.Budget = n
		case "maxRuns":
			b.policies.Session.MaxRuns = n
		case "backlog":
			b.policies.Backlog.Events = n
		case "held":
			b.maxHeld = n
		case "chain":
			b.policies.Chain.Depth = n
		default:
			return fmt.Errorf("no policy %q", k)
		}
	}
	return nil
}

// outcomeCommand reads what a worker reports.
func (b *bench) outcomeCommand(w words, run eventlog.RunID) (decide.Command, error) {
	switch w.verb {
	case "tick":
		if place := b.place(); place != nil {
			return decide.Tick{Place: place}, nil
		}
		return decide.Tick{}, nil
	case "recover":
		c := decide.Recover{}
		if w.has("lease") {
			c.Found = b.state.Head.Revision
		}
		return c, nil
	case "prepare":
		return b.prepare(w, run), nil
	case "mutate":
		return mutate(w, run), nil
	case "settle":
		c := decide.SettleMutation{Mutation: eventlog.MutationID(w.named["m"]), By: w.named["by"], Resent: w.has("resent")}
		if c.Mutation == "" {
			c.Mutation = eventlog.MutationID(run)
			if r := b.state.RetryRun(); r != nil {
				c.Mutation = r.Mutation
			}
		}
		switch w.first() {
		case "applied":
			c.Outcome = decide.Settlement{Status: decide.Applied, Result: []byte(`{"ok":1}`)}
			if result := w.named["result"]; result != "" {
				c.Outcome.Result = []byte(result)
			}
		case "failed":
			c.Outcome = decide.Settlement{Status: decide.Failed, Failure: w.told("says")}
			if len(w.bare) > 1 {
				c.Outcome.Failure = &eventlog.Failure{Class: eventlog.Class(w.bare[1]), Code: "test", Message: "refused",
					RetryAfter: w.retryAfter()}
			}
		default:
			c.Outcome.Failure = w.told("says")
			if w.has("held-back") || w.retryAfter() > 0 {
				c.Outcome.Failure = &eventlog.Failure{Class: eventlog.Transient, Code: "http.status", Message: "not now",
					RetryAfter: w.retryAfter()}
			}
			if w.has("held-back") {
				c.Outcome.Failure.Code = eventlog.CodeHeldBack
			}
		}
		c.CallFailure = w.told("call")
		if over, ok := w.named["over"]; ok {
			if c.UnderWay = c.By == eventlog.ResolvedByReconcile; over != "unknown" {
				wait, err := time.ParseDuration(over)
				if err != nil {
					return nil, err
				}
				c.OverAt = b.now.Add(wait)
			}
		}
		return c, nil
	case "resend":
		return decide.ResendMutation{Mutation: b.state.RetryRun().Mutation}, nil
	case "next", "produce":
		return commit(w, run), nil
	case "fail-run":
		return decide.FailRun{Run: run, Failure: eventlog.Failure{Code: "storage.wait",
			Message: "the log could not be written"}}, nil
	}
	return nil, nil
}

func (b *bench) prepare(w words, run eventlog.RunID) decide.FinishPrepare {
	c := decide.FinishPrepare{Run: run, Failure: w.failure(), Seen: b.state}
	if w.has("peeked") {
		c.Seen = b.seen
	}
	c.SeenPending = refs(csv(w.named["told"]))
	if w.has("paged") { // what prepare did not look at is not in memory
		c.Seen = c.Seen.PageOut(projections.Window{}, func(projections.Key) bool { return true })
	}
	if c.Failure != nil {
		return c
	}
	var list []string
	for _, word := range w.bare {
		if word != "peeked" && word != "paged" && word != "+next" {
			list = append(list, word)
		}
	}
	c.Prepared = decide.Prepared{Raw: []byte(`{"data":1}`), Reservations: refs(list), UITitle: "Send"}
	for _, ref := range refs(csv(w.named["cancel"])) {
		c.Prepared.Cancel = append(c.Prepared.Cancel, eventlog.Cancellation{Topic: ref.Topic, MessageID: ref.MessageID,
			Reason: "not wanted"})
	}
	if d, err := time.ParseDuration(w.named["wake"]); err == nil {
		c.Prepared.WakeAt = b.now.Add(d)
	}
	if w.has("+next") {
		c.Next = &decide.CommitRun{Run: run}
	}
	return c
}

func mutate(w words, run eventlog.RunID) decide.FinishMutate {
	c := decide.FinishMutate{Run: run, Failure: w.failure(), Waited: w.has("waited"), Asks: w.has("asks")}
	if w.first() == "refused" {
		c.Failure = &eventlog.Failure{Class: eventlog.Logic, Code: "params.invalid", Message: "they do not fit"}
		if code, ok := w.named["code"]; ok {
			c.Failure.Code = code
		}
	}
	if c.Failure == nil && w.first() == "call" || w.first() == "refused" {
		c.Call = &eventlog.MutationCall{
			Connector: "m", Operation: "send", Params: []byte(`{"n":1}`), ParamsHash: "hash", TimeoutMS: 30_000,
			Reconciles: !w.has("noreconcile"),
		}
		if within, err := time.ParseDuration(w.named["resend"]); err == nil {
			c.Call.ResendMS = within.Milliseconds()
		}
	}
	return c
}

func commit(w words, run eventlog.RunID) decide.CommitRun {
	c := decide.CommitRun{Run: run, Failure: w.failure()}
	if s, ok := w.named["state"]; ok {
		c.State = []byte(s)
	}
	for _, in := range csv(w.named["input"]) {
		c.Inputs = append(c.Inputs, namedInput(in))
	}
	title := w.named["title"]
	if title == "" {
		title = "T"
	}
	if w.has("untitled") {
		title = ""
	}
	for _, ref := range refs(csv(w.named["pub"])) {
		p := decide.Publish{Topics: []eventlog.Topic{ref.Topic}, MessageID: ref.MessageID, Title: title, Payload: []byte(`1`)}
		if in, ok := w.named["link"]; ok {
			p.Input = namedInput(in).ID()
		}
		c.Publishes = append(c.Publishes, p)
	}
	return c
}

// namedInput is an input that a script registers: a mail's id, or source:type:id.
func namedInput(text string) decide.Input {
	in := decide.Input{Source: "mail", Type: "message", ExternalID: text, Title: text}
	if parts := strings.Split(text, ":"); len(parts) == 3 {
		in.Source, in.Type, in.ExternalID = parts[0], parts[1], parts[2]
	}
	return in
}

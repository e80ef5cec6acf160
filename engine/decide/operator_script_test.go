package decide_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// operatorCommand reads what a person or the outside asks for.
func operatorCommand(w words) (decide.Command, error) {
	one := eventlog.EventRef{}
	if len(w.bare) > 0 {
		one = refs(w.bare[:1])[0]
	}
	m := eventlog.MutationID(w.first())
	switch w.verb {
	case "deploy":
		return nil, nil
	case "repair-refused":
		return decide.RepairRefused{Reason: "it renames the workflow"}, nil
	case "push":
		topic := eventlog.Topic(w.named["topic"])
		if topic == "" {
			topic = "in"
		}
		title := w.named["title"]
		if title == "" {
			title = "T"
		}
		c := decide.Push{Topic: topic}
		for _, id := range w.bare {
			payload := `1`
			if key, ok := w.named["key"]; ok {
				payload = `{"k":"` + key + `"}`
			}
			if size, err := strconv.Atoi(w.named["size"]); err == nil {
				payload = `"` + strings.Repeat("<", size) + `"`
			}
			if deep := w.deep(); deep != "" {
				payload = deep
			}
			if number := w.named["number"]; number != "" {
				payload = number
			}
			c.Items = append(c.Items, decide.PushItem{MessageID: eventlog.MessageID(id), Title: title,
				Payload: []byte(payload)})
		}
		return c, nil
	case "run-now":
		return decide.RunNow{}, nil
	case "pause":
		return decide.Pause{}, nil
	case "resume":
		return decide.Resume{KeepRepairBudget: w.has("keep-budget")}, nil
	case "archive":
		return decide.Archive{}, nil
	case "restore":
		return decide.Restore{Fact: eventlog.LogRestored{From: "a backup", TakenAt: 1}}, nil
	case "grant":
		grants := map[string]eventlog.Grant{}
		for k, v := range w.named {
			grants[k] = eventlog.Grant(v)
		}
		return decide.SetGrants{Grants: grants}, nil
	case "approve":
		return decide.Approve{Mutation: m, ParamsHash: w.named["hash"], Comment: w.named["comment"]}, nil
	case "reject":
		return decide.Reject{Mutation: m, Comment: w.named["comment"]}, nil
	case "did-not-happen":
		return decide.Resolve{Mutation: m, Resolution: decide.DidNotHappen, Comment: w.named["comment"]}, nil
	case "did-happen":
		c := decide.Resolve{Mutation: m, Resolution: decide.DidHappen, Comment: w.named["comment"]}
		if text, ok := w.named["result"]; ok {
			c.Result = []byte(text)
		}
		if deep := w.deep(); deep != "" {
			c.Result = []byte(deep)
		}
		if number := w.named["number"]; number != "" {
			c.Result = []byte(number)
		}
		return c, nil
	case "skip-mutation":
		return decide.Resolve{Mutation: m, Resolution: decide.Skip, Comment: w.named["comment"]}, nil
	case "try-again":
		return decide.Resolve{Mutation: m, Resolution: decide.TryAgain, Comment: w.named["comment"]}, nil
	case "skip":
		return decide.SkipEvent{Topic: one.Topic, MessageID: one.MessageID, Reason: "spam"}, nil
	case "cancel":
		return decide.CancelJob{Topic: one.Topic, MessageID: one.MessageID, Reason: "spam"}, nil
	case "redrive":
		return decide.RedriveJob{Topic: one.Topic, MessageID: one.MessageID, IncludingUnknown: w.has("+unknown")}, nil
	case "bulk":
		c := decide.ChangeEvents{Action: decide.EventAction(w.first()), IncludingUnknown: w.has("+unknown"),
			Held: eventlog.HeldReason(w.named["held"])}
		c.Items = refs(slices.DeleteFunc(slices.Clone(w.bare[1:]), func(word string) bool { return word == "+unknown" }))
		return c, nil
	}
	return nil, nil
}

// definition reads a deploy. Handlers are `p` and `q` (producers with an interval, `every=`), `k` (one with
// a cron expression, in `zone=`; `run-on-deploy`) and `c:in` or `c:in,extra`, `d:out`
// (consumers with mutate and next, less `-next` and `-mutate`, with `n=` runs at once, `by=` a key and `rate=`, and
// `approval=`, of all or of one); none means c:in. Topics are in,
// out and free. `src=` names the bytes; each deploy has new ones without it.
func definition(w words) decide.Deploy {
	c := decide.Deploy{Filename: "w.ts", Source: "…", SourceHash: w.named["src"], Repair: w.has("repair"),
		KeepApprovals: w.has("keep-approvals"), KeepRepairBudget: w.has("keep-budget"),
		Grants: map[string]eventlog.Grant{"m.*": eventlog.GrantAllow}}
	if g, ok := w.named["grant"]; ok {
		c.Grants = map[string]eventlog.Grant{"m.*": eventlog.Grant(g)}
	}
	if w.has("keep-grants") {
		c.Grants = nil
	}
	if v, ok := w.named["expect"]; ok {
		expected := eventlog.Version(v)
		c.Expected = &expected
	}
	if c.SourceHash == "" {
		c.SourceHash = strings.Join(w.bare, " ") + fmt.Sprint(w.named)
	}
	def := &c.Definition
	def.Topics = []eventlog.Topic{"in", "out", "free"}
	def.Operations = []eventlog.Operation{{Connector: "m", Operation: "send", Kind: "mutate", Reconciles: true,
		TimeoutMS: 30_000, Schema: []byte(w.named["schema"])}}
	for _, word := range w.bare {
		name, topics, consumer := strings.Cut(word, ":")
		switch {
		case consumer:
			def.Consumers = append(def.Consumers, consumerOf(w, name, topics))
		case word == "p", word == "q", word == "k":
			p := eventlog.Producer{Name: eventlog.Handler(word), IntervalMS: 300_000, RunOnDeploy: w.has("run-on-deploy")}
			if every, err := time.ParseDuration(w.named["every"]); err == nil {
				p.IntervalMS = every.Milliseconds()
			}
			if word == "k" {
				p.IntervalMS, p.Cron, p.Timezone = 0, "0 9 * * *", w.named["zone"]
			}
			if pubs, ok := w.named["publishes"]; ok {
				p.Publishes, p.PublishesDeclared = []eventlog.Topic{eventlog.Topic(pubs)}, true
			}
			def.Producers = append(def.Producers, p)
		}
	}
	if len(def.Consumers)+len(def.Producers) == 0 {
		def.Consumers = append(def.Consumers, consumerOf(w, "c", "in"))
	}
	return c
}

func consumerOf(w words, name, topics string) eventlog.Consumer {
	c := eventlog.Consumer{Name: eventlog.Handler(name), HasMutate: !w.has("-mutate"), HasNext: !w.has("-next")}
	for _, t := range csv(topics) {
		c.Subscribe = append(c.Subscribe, eventlog.Topic(t))
	}
	c.Key, c.Rate = w.named["by"], w.named["rate"]
	c.Approval, c.DeadLetter = eventlog.Approval(w.named["approval"]), eventlog.Topic(w.named["dead"])
	if of := w.named["of"]; of != "" && of != name {
		c.Approval = ""
	}
	if slices.Contains(c.Subscribe, c.DeadLetter) {
		c.DeadLetter = ""
	}
	if n, ok := w.named["n"]; ok && name != w.named["plain"] {
		c.Concurrency, _ = strconv.Atoi(n)
	}
	if !c.Concurrent() {
		c.Key, c.Rate = "", ""
	}
	if x, ok := w.named["max"]; ok {
		n, _ := strconv.Atoi(x)
		c.MaxAttempts = &n
	}
	return c
}

// deep is JSON of so many levels as the command says; empty where it says none.
func (w words) deep() string {
	levels, _ := strconv.Atoi(w.named["deep"]) // 0 where it is not said
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

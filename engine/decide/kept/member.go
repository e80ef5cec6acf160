package kept

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// member is one setting of a handler or hook, as an author writes it; written is empty where the definition has none.
type member struct{ name, written string }

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

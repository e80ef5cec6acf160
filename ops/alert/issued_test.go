package alert

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/eventlog"
)

// What is told of a condition over time: once when it begins, again when it begins anew, every day while it lasts, and
// that it is over once it has been over for a minute.
func TestWhatIsTold(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	at := func(minute int) eventlog.Instant {
		return eventlog.At(time.Unix(0, 0).Add(time.Duration(minute) * time.Minute))
	}
	holds := func(reason string, minute int) *finding { return &finding{reason, at(minute)} }
	type look struct {
		after time.Duration // since the look before
		found *finding
		want  State
	}
	for name, looks := range map[string][]look{
		"nothing": {{0, nil, ""}, {day, nil, ""}},
		"lasts": {{0, holds("a", 1), Raised}, {time.Second, holds("a", 1), ""}, {23 * time.Hour, holds("a", 1), ""},
			{time.Hour, holds("a", 1), Repeated}, {time.Hour, holds("a", 1), ""}, {day, holds("a", 1), Repeated}},
		"is over": {{0, holds("a", 1), Raised}, {time.Hour, nil, ""}, {59 * time.Second, nil, ""},
			{time.Second, nil, Resolved}, {time.Hour, nil, ""}, {time.Hour, holds("a", 2), Raised}},
		"over for a moment": {{0, holds("a", 1), Raised}, {time.Second, nil, ""}, {50 * time.Second, holds("a", 1), ""},
			{time.Second, nil, ""}, {50 * time.Second, nil, ""}, {10 * time.Second, nil, Resolved}},
		"a burst": {{0, holds("a", 1), Raised}, {time.Minute, holds("a", 2), ""}, {time.Minute, holds("a", 3), ""},
			{3 * time.Minute, holds("a", 4), Raised}, {time.Minute, holds("b", 4), ""},
			{4 * time.Minute, holds("b", 4), Raised}},
		"resolved in a burst": {{0, holds("a", 1), Raised}, {time.Second, nil, ""}, {time.Minute, nil, Resolved},
			{time.Second, holds("a", 3), ""}, {4 * time.Minute, holds("a", 3), Raised}},
		"the clock is set back": {{0, holds("a", 1), Raised}, {-10 * 365 * day, holds("b", 2), Raised},
			{time.Second, holds("c", 3), ""}, {day, holds("b", 2), Repeated}, {-day, holds("b", 2), Repeated}},
	} {
		now, last := time.Unix(1_700_000_000, 0), issued{}
		for i, l := range looks {
			now = now.Add(l.after)
			got := last.next(l.found, now)
			if got != l.want {
				t.Errorf("%s, look %d: %q, want %q", name, i+1, got, l.want)
			}
			if got == "" {
				continue
			}
			last.State, last.At = got, now
			if got == Raised {
				last.RaisedAt = now
			}
			if l.found != nil {
				last.Reason, last.Since = l.found.reason, l.found.since
			}
		}
	}
}

// What came from outside is shown in a chat as it is: it calls nobody, and it is no link.
func TestTextCallsNobody(t *testing.T) {
	t.Parallel()
	a := Alert{Workflow: "shop", Condition: Person, issued: issued{State: Raised, Reason: "approval"},
		Message:  "Pay <!channel> waits & <https://evil.example|more>.",
		Commands: []string{"pawl skip shop in 'a<b'"}, Link: "https://pawl.example.com/v1/workflows/shop/why"}
	const want = "Workflow shop needs a person (approval).\nPay &lt;!channel&gt; waits &amp; " +
		"&lt;https://evil.example|more&gt;.\n    pawl skip shop in 'a&lt;b'\nhttps://pawl.example.com/v1/workflows/shop/why"
	if got := a.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

package subscription

import (
	"slices"
	"strings"
	"testing"
)

func TestFeedSubjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ facts, workflows, want string }{
		{"", "", "p.feed.>"},
		{"", "w v w", "p.feed.v.> p.feed.w.> p.feed._log.>"},
		{"run.committed", "", "p.feed.*.log.unreadable p.feed.*.run.committed"},
		{"event.* event.discarded event.* run.failed", "w",
			"p.feed.w.event.* p.feed.w.log.unreadable p.feed.w.run.failed " +
				"p.feed._log.event.* p.feed._log.log.unreadable p.feed._log.run.failed"},
	} {
		got, err := FeedSubjects("p", strings.Fields(c.facts), strings.Fields(c.workflows))
		if err != nil || !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s of %s: %v, %v; want %s", c.facts, c.workflows, got, err, c.want)
		}
	}
	for _, wrong := range []string{"run.finished", "run", "*", "run.>", "run.*.*", "nothing.*", ".*", "run.committed "} {
		if _, err := FeedSubjects("p", []string{wrong}, nil); err == nil || !strings.Contains(err.Error(), "no fact") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := FeedSubjects("p", nil, []string{"a.b"}); err == nil {
		t.Error("a.b is no workflow")
	}
}

func TestPositionsOfTheLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at, places string
		want       bool
	}{
		{"0:5", "0:5", true}, {"0:6", "0:5", false}, {"1:3", "0:9,1:2", false}, {"1:2", "0:0,1:2", true},
		{"2:1", "0:9,1:9", false}, {"0:1", "", false}, {"", "0:5", false},
	} {
		if got := before(c.at, c.places); got != c.want {
			t.Errorf("%s is recorded up to %s: %v", c.at, c.places, got)
		}
	}
	if !reached("0:5,1:7", "0:5,1:7") || reached("0:5,1:7", "0:5,1:8") || !reached("0:1", "") {
		t.Error("what is reached is not, or what is not is")
	}
	for _, c := range []struct{ got, want string }{
		{earlier("0:5,1:0", 1), "0:4,1:0"}, {earlier("0:5,1:2", 3), "0:2,1:0"}, {earlier("", 1), ""},
		{lowest("0:5,1:7", "0:6,1:3"), "0:5,1:3"}, {lowest("0:5,1:7", "1:9"), "0:5,1:7"}, {lowest("", "0:1"), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

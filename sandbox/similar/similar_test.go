package similar_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/sandbox/similar"
)

func TestNamesAreTheNearestFirstAndNothingFarAway(t *testing.T) {
	known := []string{"prepare", "mutate", "next", "subscribe", "publishes", "email.received", "email.receiver", "a"}
	for name, want := range map[string][]string{
		"preprare":       {"prepare"},
		"Prepare":        {"prepare"},
		"nxt":            {"next"},
		"publish":        {"publishes"},
		"email.recieved": {"email.received", "email.receiver"},
		"b":              nil, // one letter of one is another name
		"handler":        nil,
		"":               nil,
		"ñëxt":           {"next"}, // letters are counted, not bytes
	} {
		if got := similar.Names(name, known, 3); !slices.Equal(got, want) {
			t.Errorf("Names(%q) = %q, want %q", name, got, want)
		}
	}
	if got := similar.Names("email.recieved", known, 1); !slices.Equal(got, []string{"email.received"}) {
		t.Errorf("one of them: %q", got)
	}
}

func TestNamesOfHugeTextsAreNotCompared(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	if got := similar.Names(huge, []string{huge}, 1); got != nil {
		t.Errorf("got %d names", len(got))
	}
	if got := similar.Distance(huge, "x"); got != len(huge) {
		t.Errorf("distance %d", got)
	}
}

func TestMeantIsTheNearestElseTheOnlyPart(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	for name, test := range map[string]struct {
		known []string
		want  string
	}{
		"preprare": {[]string{"preparation", "prepare"}, "prepare"},
		"fileName": {[]string{"size", "name", "name"}, "name"}, // it may be listed twice
		"count":    {[]string{"size", "fileCount"}, "fileCount"},
		"Customer": {[]string{"customerIdentifier"}, "customerIdentifier"},
		"id":       {[]string{"orderId", "customerId"}, ""}, // which one is not known
		"ids":      {[]string{"i", "d"}, ""},
		"i":        {[]string{"identifier"}, ""},
		"body":     {[]string{"status", huge}, ""},
		"x" + huge: {[]string{huge}, ""},
		"nothing":  {nil, ""},
	} {
		if got := similar.Meant(name, test.known); got != test.want {
			t.Errorf("Meant(%.20q) = %.20q, want %q", name, got, test.want)
		}
	}
}

func TestMemberHasOtherNames(t *testing.T) {
	known := []string{"subscribe", "prepare", "key", "rate", "approval"}
	for name, want := range map[string]string{
		"aproval": "approval", "approve": "approval", "requires_approval": "approval", "askFirst": "approval",
		"orderKey": "key", "Partition-Key": "key", "rateLimit": "rate", "RATELIMIT": "rate", "topic": "subscribe",
		"color": "", strings.Repeat("x", 1<<20): "",
	} {
		if got := similar.Member(name, known); got != want {
			t.Errorf("Member(%.20q) = %q, want %q", name, got, want)
		}
	}
}

func TestSurelyWantsMoreThanLikeness(t *testing.T) {
	for _, pair := range [][2]string{
		{"aproval", "approval"}, {"approvals", "approval"}, {"needsApproval", "approval"}, {"Key", "key"}, {"keys", "key"},
		{"kye", "key"}, {"rates", "rate"}, {"rtae", "rate"}, {"throttle", "rate"},
	} {
		if !similar.Surely(pair[0], pair[1]) {
			t.Errorf("%s is not surely %s", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{
		{"state", "rate"}, {"date", "rate"}, {"hey", "key"},
		{"retries", "rate"}, {"name", "key"}, {"throttle", "key"}, {"deadLetter", "approval"},
		{strings.Repeat("approval", 1<<17), "approval"},
	} {
		if similar.Surely(pair[0], pair[1]) {
			t.Errorf("%.20s is surely %s", pair[0], pair[1])
		}
	}
}

package similar

import (
	"slices"
	"strings"
)

// otherwise maps what authors call a member in other tools, written as spelt writes it, to the member here.
var otherwise = map[string]string{
	"topic": "subscribe", "topics": "subscribe", "on": "subscribe", "from": "subscribe", "subscribes": "subscribe",
	"subscriptions": "subscribe", "input": "subscribe",
	"emits": "publishes", "output": "publishes", "to": "publishes",
	"every": "interval", "schedule": "interval", "frequency": "interval", "tz": "timezone", "zone": "timezone",
	"retries": "maxAttempts", "maxretries": "maxAttempts", "attempts": "maxAttempts", "retry": "maxAttempts",
	"parallel": "concurrency", "parallelism": "concurrency", "maxconcurrency": "concurrency", "workers": "concurrency",
	"orderby": "key", "orderkey": "key", "orderingkey": "key", "ordering": "key", "partitionkey": "key",
	"partitionby": "key", "groupby": "key", "groupkey": "key", "group": "key", "keyby": "key", "keypath": "key",
	"keyfield": "key", "eventkey": "key", "routingkey": "key",
	"dlq": "deadLetter", "deadlettertopic": "deadLetter", "deadletterqueue": "deadLetter", "ondiscard": "deadLetter",
	"ask": "approval", "askfirst": "approval", "confirm": "approval", "confirmation": "approval",
	"needsconfirmation": "approval", "requireconfirmation": "approval", "humanintheloop": "approval",
	"ratelimit": "rate", "ratelimits": "rate", "ratelimiter": "rate", "ratelimiting": "rate", "throttle": "rate",
	"throttling": "rate", "limit": "rate", "maxrate": "rate", "persecond": "rate", "maxpersecond": "rate", "rps": "rate",
	"handle": "handler", "execute": "handler", "fn": "handler", "produce": "handler", "fetch": "handler",
	"select": "prepare", "before": "prepare", "peek": "prepare", "act": "mutate", "mutation": "mutate", "after": "next",
	"onsuccess": "next", "then": "next", "emit": "next",
	"title": "name", "id": "name", "sources": "producers", "triggers": "producers", "handlers": "consumers",
	"steps": "consumers", "events": "topics",
}

// Member is the known member of a definition that an unknown name means: the nearest one, or else the one that other
// tools call by this name; empty for none.
func Member(name string, known []string) string {
	if close := Names(name, known, 1); len(close) > 0 {
		return close[0]
	}
	if other := elsewhere(name); slices.Contains(known, other) {
		return other
	}
	return ""
}

// Surely reports whether an unknown name almost certainly means the known member: at most a third of the letters
// differ, the letters stand in another order, or other tools call the member so. A short name is near to many words
// (date and rate): there a letter may only follow.
func Surely(name, known string) bool {
	switch {
	case len(name) > longest:
		return false
	case letters(name) == letters(known):
		return true
	case 3*Distance(name, known) <= len(known):
		return len(known) > 4 || strings.HasPrefix(strings.ToLower(name), known)
	}
	return elsewhere(name) == known
}

// elsewhere is the member that other tools call by this name, empty for none. A name with "approv" in it means
// approval.
func elsewhere(name string) string {
	low := spelt(name)
	if strings.Contains(low, "approv") || strings.Contains(low, "aproval") {
		return "approval"
	}
	return otherwise[low]
}

// spelt is a name in small letters, without the characters that separate its words.
func spelt(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(name))
}

func letters(name string) string {
	all := []rune(strings.ToLower(name))
	slices.Sort(all)
	return string(all)
}

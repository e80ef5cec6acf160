package vm

import (
	"slices"

	"github.com/pawl-run/pawl/sandbox/similar"
)

// otherwise are members by the names that authors give them elsewhere.
var otherwise = map[string]string{
	"topic": "subscribe", "topics": "subscribe", "on": "subscribe", "from": "subscribe", "subscribes": "subscribe",
	"subscriptions": "subscribe", "input": "subscribe",
	"emits": "publishes", "output": "publishes", "to": "publishes",
	"every": "interval", "schedule": "interval", "frequency": "interval", "tz": "timezone", "zone": "timezone",
	"retries": "maxAttempts", "maxRetries": "maxAttempts", "attempts": "maxAttempts", "retry": "maxAttempts",
	"parallel": "concurrency", "parallelism": "concurrency", "maxConcurrency": "concurrency", "workers": "concurrency",
	"orderBy": "key", "orderingKey": "key", "partitionKey": "key", "groupBy": "key", "group": "key",
	"dlq": "deadLetter", "deadLetterTopic": "deadLetter", "deadLetterQueue": "deadLetter", "onDiscard": "deadLetter",
	"approve": "approval", "needsApproval": "approval", "requireApproval": "approval", "ask": "approval",
	"rateLimit": "rate", "throttle": "rate", "limit": "rate",
	"handle": "handler", "execute": "handler", "fn": "handler", "produce": "handler", "fetch": "handler",
	"select": "prepare", "before": "prepare", "peek": "prepare", "act": "mutate", "mutation": "mutate", "after": "next",
	"onSuccess": "next", "then": "next", "emit": "next",
	"title": "name", "id": "name", "sources": "producers", "triggers": "producers", "handlers": "consumers",
	"steps": "consumers", "events": "topics",
}

// insteadOf finds the known member that an unknown name is close to; empty for none.
func insteadOf(key string, known []string) string {
	if close := similar.Names(key, known, 1); len(close) > 0 {
		return close[0]
	}
	if other := otherwise[key]; slices.Contains(known, other) {
		return other
	}
	return ""
}

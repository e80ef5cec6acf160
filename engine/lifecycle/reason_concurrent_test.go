package lifecycle_test

import (
	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/decide"
	"github.com/pawl-run/pawl/eventlog"
)

// waitsOfMany are those of concurrent consumers. Their places are taken only while they are moving.
var waitsOfMany = []waiting{
	{"a rate", decide.ReasonRate, func(l *life) {
		l.deploy(shop{many: true, options: `rate: "1/m",`})
		l.push("a", "b")
	}, "It begins at most 1/m (rate): the next run at 2026-03-01T08:01:00Z", 1,
		shop{many: true, options: `rate: "1/m",`}, 0},
	{"a target that is down", decide.ReasonProbing, func(l *life) {
		l.reads(eventlog.Transient)
		l.deploy(shop{many: true, prepare: listing.prepare})
		l.push("a", "b", "c", "d")
	}, "its target is to blame", 1, shop{many: true}, 0},
	{"three calls whose outcome is being asked", decide.ReasonUncertain, func(l *life) {
		l.deploy(shop{many: true})
		l.always(lost)
		l.reconciles(connector.VerdictRetry)
		l.push("a", "b", "c")
		l.push("d")
	}, "three of its calls in a row ended without a known outcome", 5, shop{many: true}, 0},
	{"as many held as may be", decide.ReasonHeldMost, func(l *life) {
		l.deploy(shop{many: true})
		l.sends(lost, lost)
		l.reconciles(connector.VerdictRetry)
		l.push("a", "b")
		l.push("c")
	}, "as many of its events are held as may be", 1, shop{many: true}, 2},
	{"held for a repair", decide.ReasonHeld, func(l *life) {
		l.deploy(shop{many: true, prepare: `if (order.id !== "b") { ` + broken("read") + ` }`})
		l.push("a", "b")
	}, "for a repair of the script; any new version frees it", 5, shop{many: true}, 0},
	{"held for an approval", decide.ReasonHeld, func(l *life) {
		l.do("deployWorkflow", nil, "source", shop{many: true}.source(), "filename", "shop.ts")
		l.push("a")
	}, "for an approval of its call; nothing has left", 4, shop{many: true}, 0},
	{"held for a person", decide.ReasonHeld, func(l *life) {
		l.deploy(shop{many: true})
		l.sends(definitely(eventlog.Precondition))
		l.push("a", "b")
	}, "bring the other side into the state", 5, shop{many: true}, 0},
	{"held for what became of a call", decide.ReasonHeld, func(l *life) {
		l.deploy(shop{many: true, mutate: fires})
		l.sends(lost)
		l.push("a", "b")
	}, "for a person to say whether its call was applied", 5, shop{many: true}, 0},
}

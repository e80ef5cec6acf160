package console

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections/readmodel"
)

// Base is the beginning of all paths of the console, except those of the home page and the login.
const Base = "/ui/"

// LoginPath is where a browser exchanges its one-time link for a login.
const LoginPath = "/login"

// path joins segments to a path below Base, each escaped.
func path(segments ...any) string {
	out := strings.TrimSuffix(Base, "/")
	for _, s := range segments {
		out += "/" + url.PathEscape(fmt.Sprint(deref(s)))
	}
	return out
}

// deref follows the pointers of the views; nil becomes an empty text.
func deref(v any) any {
	p := reflect.ValueOf(v)
	switch {
	case p.Kind() != reflect.Pointer:
		return v
	case p.IsNil():
		return ""
	}
	return p.Elem().Interface()
}

// plain is a text of scripts or from outside in which each character that cannot be seen, or that reorders the text
// around it, is replaced by its number.
func plain(v any) string {
	s := strings.ToValidUTF8(fmt.Sprint(deref(v)), "\uFFFD")
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&out, "‹%04X›", r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// hidden reports whether a character cannot be seen: control characters, characters that change the direction of text,
// and characters without a visible form, by which a text for a language model could be hidden. A joiner of the parts of
// an emoji or of a letter is not hidden.
func hidden(r rune) bool {
	const brailleBlank = 0x2800
	switch r {
	case '\n', '\t', 0x200C, 0x200D, 0xFE0E, 0xFE0F:
		return false
	case brailleBlank:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// clip is plain in one line of at most n characters.
func clip(n int, v any) string {
	s := strings.Join(strings.Fields(plain(v)), " ")
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// line shows JSON in one short line.
func line(n int, raw json.RawMessage) string {
	const longest = 6 // bytes of a character in JSON: \u0000
	return clip(n, string(raw[:min(len(raw), longest*(n+1))]))
}

// count writes a number with its noun: "1 run", "2 runs".
func count(n int, noun string) string { return eventlog.Count(n, noun) }

// words makes a status readable: "awaiting_approval" is "awaiting approval".
func words(v any) string {
	apart := humps.ReplaceAllStringFunc(fmt.Sprint(deref(v)), func(hump string) string {
		return hump[:1] + " " + strings.ToLower(hump[1:])
	})
	return strings.NewReplacer("_", " ", ":", ": ").Replace(apart)
}

// humps finds the places at which a new word begins within a name, as in userPause.
var humps = regexp.MustCompile(`[a-z][A-Z]`)

// decided says how the outcome of a call was found where its own answer did not say it. A call that a person has
// rejected has no failure: one with a failure was withdrawn with its workflow.
func decided(by any, failure *readmodel.Failure) string {
	switch said := fmt.Sprint(deref(by)); said {
	case eventlog.ResolvedByReconcile:
		return "the other side was asked"
	case eventlog.ResolvedByNeverSent:
		return "it was never sent"
	case eventlog.ResolvedByLateReply:
		return "its answer came late"
	case eventlog.ResolvedByUserApplied:
		return "a person said that it happened"
	case eventlog.ResolvedByUserFailed:
		return "a person said that it did not happen"
	case eventlog.ResolvedByUserSkip:
		return "a person skipped it"
	case eventlog.ResolvedByUserReject:
		if failure != nil {
			return "it was withdrawn, since the workflow was archived"
		}
		return "a person rejected it"
	case eventlog.ResolvedByAcceptedLoss:
		return "a person gave up a damaged part of the log"
	default:
		return words(said)
	}
}

// tone is the colour of a status, which the page also shows as a word.
func tone(v any) string {
	switch fmt.Sprint(deref(v)) {
	case "changed", "new", "gone":
		return "wait"
	case "active", "running", "in_flight", "reserved", "open":
		return "busy"
	case "applied", "completed", "committed", "done", "consumed", "allow":
		return "good"
	case "indeterminate", "awaiting_approval", "needs_reconcile", "retryable", "paused", "paused:approval",
		"paused:reconciliation", "paused:transient", "held", "ask", "given_up", "warning":
		return "wait"
	case "failed", "failed:logic", "failed:internal", "error", "fails", "notReplayed", "discarded", "crashed", "deny":
		return "bad"
	}
	return "calm"
}

// moments finds the times in the sentences of explanations.
var moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

func relative(d time.Duration) string {
	switch {
	case d > -time.Second && d < 2*time.Second:
		return "now"
	case d > 0:
		return says(d) + " ago"
	}
	return "in " + says(-d)
}

// says writes a duration in its largest unit.
func says(d time.Duration) string {
	in := func(unit time.Duration) int { return int(math.Round(float64(d) / float64(unit))) }
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", in(time.Second))
	case d < 100*time.Minute:
		return fmt.Sprintf("%d min", in(time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", in(time.Hour))
	}
	return fmt.Sprintf("%d days", in(day))
}

// attempts is how many attempts an event has where its consumer bounds the retries: the first one and the retries.
func attempts(retries *int) int { return *retries + 1 }

// query is the query of a path with some of its values changed: pairs of a name and a value, empty to leave it out.
func query(values url.Values, pairs ...string) string {
	q := url.Values{}
	for name, v := range values {
		q[name] = v
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		} else {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return "?" + q.Encode()
}

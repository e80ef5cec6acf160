package act

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
	"github.com/pawl-run/pawl/ops"
)

// period is from since to until, each zero for no bound.
type period struct{ since, until time.Time }

func (p period) holds(t time.Time) bool {
	return !t.Before(p.since) && (p.until.IsZero() || t.Before(p.until))
}

// whereFlag is the text of --where, such as held=repair,q=timeout.
type whereFlag string

// UnmarshalText refuses a second --where: one of the two would be dropped silently.
func (f *whereFlag) UnmarshalText(text []byte) error {
	if *f != "" {
		return errors.New("it is given twice; give it once, with its parts separated by commas")
	}
	*f = whereFlag(text)
	return nil
}

// where reads a filter such as held=repair,q=timeout into the parameters of a request. It takes these keys, each with
// the values that its field has in the operation.
func where(text whereFlag, operation string, keys []string, params map[string]any, usage string) (period, error) {
	var of period
	last := ""
	given := map[string]bool{}
	for part := range strings.SplitSeq(string(text), ",") {
		key, value, ok := strings.Cut(part, "=")
		switch {
		case (!ok || !slices.Contains(keys, key)) && last == "q":
			params["q"] = params["q"].(string) + "," + part // the text of q may hold commas
			continue
		case !ok || !slices.Contains(keys, key):
			return of, exit.Misconfigured(usage, "--where: %q is none of %s=", part, strings.Join(keys, "=, "))
		case given[key]:
			return of, exit.Misconfigured(usage, "--where: %s= is given twice; give each key once", key)
		case key == "limit":
			limit, err := strconv.Atoi(value)
			if err != nil || limit < 1 {
				return of, exit.Misconfigured(usage, "--where: limit is %q; it must be a number of 1 or more", value)
			}
			params[key] = limit
		case key == "since" || key == "until":
			at, err := term.ReadMoment(value, time.Now())
			if err != nil {
				return of, exit.Misconfigured(usage, "--where: %s: %v", key, err)
			}
			if params[key] = at.UTC().Format(time.RFC3339Nano); key == "since" {
				of.since = at
			} else {
				of.until = at
			}
		default:
			if possible := ops.Possible(operation, key); possible != nil && !slices.Contains(possible, value) {
				return of, exit.Misconfigured(usage, "--where: %s is %q; it must be one of %s", key, value,
					strings.Join(possible, ", "))
			}
			params[key] = value
		}
		last, given[key] = key, true
	}
	return of, nil
}

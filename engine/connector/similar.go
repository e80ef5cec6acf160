package connector

import (
	"strings"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// maxSimilar bounds how many names are suggested.
const maxSimilar = 3

// Similar suggests up to three existing names close to an unknown one, nearest first: operations
// for `connector.operation`, connectors for a name without a dot. An operation of the right name in
// another connector counts as close.
func (r *Registry) Similar(name string) []string {
	r.mu.RLock()
	var candidates []string
	for connector, c := range r.connectors {
		if !strings.Contains(name, ".") {
			candidates = append(candidates, connector)
			continue
		}
		for _, op := range c.Operations() {
			candidates = append(candidates, connector+"."+op.Name)
		}
	}
	r.mu.RUnlock()
	return nearest(name, candidates)
}

func nearest(name string, candidates []string) []string {
	most := similar.Tolerance(name)
	_, operation, dotted := strings.Cut(name, ".")
	found := make(map[string]int)
	for _, candidate := range candidates {
		distance := similar.Distance(name, candidate)
		if _, other, _ := strings.Cut(candidate, "."); dotted && strings.EqualFold(other, operation) {
			distance = min(distance, most)
		}
		if distance <= most {
			found[candidate] = distance
		}
	}
	return similar.Nearest(found, maxSimilar)
}

// unknown describes a connector or operation that is not there (any more).
func (r *Registry) unknown(call Call) *eventlog.Failure {
	full := call.Connector + "." + call.Operation
	hint := "start its connector"
	if advice, ok := r.advice[call.Connector]; ok {
		return Failf(eventlog.Transient, CodeUnknown, "connector %s is not configured (%s); %s, and start the engine again",
			call.Connector, full, advice)
	}
	if similar := r.Similar(full); len(similar) > 0 {
		hint = "did you mean " + strings.Join(similar, " or ") + "?"
	}
	return Failf(eventlog.Transient, CodeUnknown, "there is no operation %s now; %s", full, hint)
}

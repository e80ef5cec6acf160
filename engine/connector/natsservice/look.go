package natsservice

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/micro"

	"github.com/pawl-run/pawl/engine/connector"
)

// maxMisses is how often in a row an instance may leave a question unanswered, while the server
// still knows it, before it is taken for gone.
const maxMisses = 3

// look asks which services are there and puts the registry in step.
func (w *Watcher) look() error {
	found, refused, err := gather(w.life, w.wire.nc, w.cfg.Quiet)
	if err != nil {
		return err
	}
	seen := make(map[string]micro.Info, len(found))
	for _, info := range found {
		seen[instance(info)] = info
	}
	var silent []string
	for id := range w.instances {
		if _, ok := seen[id]; !ok {
			silent = append(silent, id)
		}
	}
	misses := make(map[string]int)
	for id, a := range askEach(w.life, w.wire.nc, silent) {
		info := a.info
		switch {
		case a.gone:
			continue
		case a.err != nil:
			// Slow, or cut off in a way that the server has not noticed yet.
			if misses[id] = w.misses[id] + 1; misses[id] >= maxMisses {
				delete(misses, id)
				w.logger.Warn("a service instance does not answer any more and is taken for gone", "instance", id,
					"error", a.err)
				continue
			}
			info = w.instances[id]
		}
		seen[id] = info
		found = append(found, info)
	}
	if w.life.Err() != nil {
		return w.life.Err()
	}
	w.instances, w.misses = seen, misses
	w.apply(found, refused)
	return nil
}

// apply puts the registry in step with the instances. refused is what was refused before.
func (w *Watcher) apply(instances []micro.Info, refused []Refusal) {
	instances, foreign := w.believed(instances)
	found, more := offers(instances, w.cfg.Prefix+".tool")
	refused = slices.Concat(refused, foreign, more)
	present := make(map[string]bool, len(found))
	for _, o := range found {
		before, ours := w.offered[o.name]
		if there, ok := w.cfg.Registry.Connector(o.name); ok && (!ours || there != connector.Connector(before)) {
			refused = append(refused, Refusal{Service: o.name,
				Reason: "there is a compiled-in connector of that name, which wins; rename the service, or do not " +
					"configure the connector"})
			continue
		}
		if ours && before.same(o) {
			present[o.name] = true
			continue
		}
		next := &foundService{line: line{wire: w.wire, life: w.life, listen: w.cfg.Listen, nudge: w.nudge}, offer: o}
		put, word := w.cfg.Registry.Add, "found"
		if ours {
			put, word = w.cfg.Registry.Replace, "changed"
		}
		if err := put(next); err != nil {
			refused = append(refused, Refusal{Service: o.name, Reason: err.Error()})
			continue
		}
		w.offered[o.name] = next
		present[o.name] = true
		w.logger.Info("a connector was "+word, "connector", o.name, "operations", strings.Join(next.names(), " "))
	}
	for name, before := range w.offered {
		if present[name] {
			continue
		}
		delete(w.offered, name)
		if there, ok := w.cfg.Registry.Connector(name); ok && there == connector.Connector(before) {
			w.cfg.Registry.Remove(name)
			w.logger.Info("a connector is gone; calls to it wait for its return", "connector", name)
		}
	}
	w.tell(refused)
}

// believed are the instances that this connection's users may be; what others say is refused.
func (w *Watcher) believed(instances []micro.Info) ([]micro.Info, []Refusal) {
	var refused []Refusal
	instances = slices.DeleteFunc(slices.Clone(instances), func(in micro.Info) bool {
		reason := ""
		switch {
		case w.cfg.Only != "" && in.Name != w.cfg.Only:
			reason = "the user of tool " + w.cfg.Only +
				" says that it serves it; a tool's own user serves that tool only"
		case w.cfg.Elsewhere != nil && w.cfg.Elsewhere(in.Name):
			reason = "it has a user of its own, and an instance connected as another; start it with the URL of " +
				"its own user"
		default:
			return false
		}
		refused = append(refused, Refusal{Service: in.Name, Reason: reason, Loud: true})
		return true
	})
	return instances, refused
}

// tell keeps the refusals and says each once.
func (w *Watcher) tell(refused []Refusal) {
	w.mu.Lock()
	before := w.refused
	w.refused = refused
	w.mu.Unlock()
	for _, r := range refused {
		if slices.Contains(before, r) {
			continue
		}
		level := slog.LevelWarn
		if r.Loud {
			level = slog.LevelError
		}
		w.logger.Log(w.life, level, r.String())
	}
}

func (o offer) names() []string {
	names := make([]string, len(o.endpoints))
	for i, e := range o.endpoints {
		names[i] = e.operation.Name
	}
	return names
}

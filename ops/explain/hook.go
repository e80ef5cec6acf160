package explain

import "github.com/pawl-run/pawl/eventlog"

// RefusingHook is a hook that refuses every request, because it cannot verify any.
type RefusingHook struct {
	Name eventlog.HookName
	// Because says why, as the end of a sentence.
	Because string
	// Grant is the command that ends the refusals; where it is empty, Remedy says what to do.
	Grant, Remedy string
}

// Hooks says which hooks of the workflow refuse every request, and what ends that.
func (w *Why) Hooks(refusing []RefusingHook) {
	defer w.compose()
	for _, h := range refusing {
		w.begin(PartHooks)
		if h.Grant != "" {
			w.add("Hook %s refuses every request (503): %s.", h.Name, h.Because)
			w.once("%s", h.Grant)
			continue
		}
		w.add("Hook %s refuses every request (503): %s; %s.", h.Name, h.Because, h.Remedy)
		w.once("pawl hooks list")
	}
}

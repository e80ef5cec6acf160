package explain

import "github.com/pawl-run/pawl/eventlog"

// RefusingHook is a hook that refuses every request, because it cannot verify any.
type RefusingHook struct {
	Name   eventlog.HookName
	Secret string
	// Unknown: no secret of the name is configured. Else the workflow is not granted it.
	Unknown bool
}

// Hooks says which hooks of the workflow refuse every request, and what ends that.
func (w *Why) Hooks(refusing []RefusingHook) {
	defer w.compose()
	for _, h := range refusing {
		w.begin(PartHooks)
		if h.Unknown {
			w.add("Hook %s refuses every request (503): its secret %s is not configured; write it under secrets in the "+
				"configuration and start the engine again.", h.Name, h.Secret)
			w.once("pawl hooks list")
			continue
		}
		w.add("Hook %s refuses every request (503): the workflow is not granted its secret %s.", h.Name, h.Secret)
		w.once("pawl grants %s %s=allow", w.Workflow, eventlog.SecretCapability(h.Secret))
	}
}

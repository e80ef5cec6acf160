package deploy

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/lint"
	"github.com/pawl-run/pawl/sandbox/lint/onecall"
	"github.com/pawl-run/pawl/sandbox/similar"
)

// operations checks every use and pins what it names.
func (c *check) operations() {
	catalog := c.in.Catalog
	if catalog == nil {
		catalog = emptyCatalog{}
	}
	// Each operation is looked up once: a catalog that changes meanwhile must not give two pins.
	type found struct {
		pin eventlog.Operation
		ok  bool
	}
	seen := make(map[string]found)
	for _, use := range c.in.Definition.Uses {
		if use.Connector == sandbox.VarsMember {
			c.setting(use)
			continue
		}
		name := use.Connector + "." + use.Operation
		f, looked := seen[name]
		if !looked {
			f.pin, f.ok = c.lookUp(catalog, use)
			seen[name] = f
			if f.ok {
				c.accepted.Operations = append(c.accepted.Operations, f.pin)
			}
		}
		if f.ok {
			c.phase(use, f.pin)
		}
	}
	slices.SortFunc(c.accepted.Operations, func(a, b eventlog.Operation) int {
		return cmp.Or(cmp.Compare(a.Connector, b.Connector), cmp.Compare(a.Operation, b.Operation))
	})
}

// lookUp finds the pin of an operation, or adds the problem that there is none.
func (c *check) lookUp(catalog Catalog, use sandbox.OperationUse) (eventlog.Operation, bool) {
	if slices.Contains(connector.ReservedNames(), use.Connector) {
		c.refuse(CodeReserved, "call a connector: ctx.<connector>.<operation>(params)",
			"ctx.%s is no connector, and has no %s", use.Connector, eventlog.ClipName(use.Operation))
		c.at(sandbox.Place{Line: use.Line, Column: use.Column})
		return eventlog.Operation{}, false
	}
	if c.in.Repair && c.in.Previous != nil {
		// A repair keeps the pins, so that a tool that is away or has changed does not stand in
		// its way, and accepts no change of them: only a deploy does.
		if pin, ok := c.in.Previous.Definition.Operation(use.Connector, use.Operation); ok {
			return pin, true
		}
		c.refuse(CodeRepair, "deploy the file instead, if the workflow is meant to have this capability",
			"%s.%s is not used by version %s, and a repair may not need new capabilities", eventlog.ClipName(use.Connector),
			eventlog.ClipName(use.Operation), c.in.Previous.Version)
		c.at(sandbox.Place{Line: use.Line, Column: use.Column})
		return eventlog.Operation{}, false
	}
	op, ok := catalog.Operation(use.Connector, use.Operation)
	if !ok {
		c.unknown(catalog, use)
		return eventlog.Operation{}, false
	}
	switch op.Kind {
	case connector.List, connector.Get, connector.Mutate:
	default:
		c.refuse(CodeOperationKind, "correct the connector", "%s.%s has kind %q; its connector must say list, get or mutate",
			use.Connector, use.Operation, eventlog.ClipName(op.Kind))
		c.at(sandbox.Place{Line: use.Line, Column: use.Column})
		return eventlog.Operation{}, false
	}
	timeout := op.Timeout
	if timeout <= 0 {
		timeout = connector.DefaultTimeout
	}
	return eventlog.Operation{
		Connector: use.Connector, Operation: use.Operation, Kind: string(op.Kind),
		Schema: bytes.Clone(op.Schema), Reconciles: op.Reconciles && op.Kind == connector.Mutate,
		TimeoutMS: max(1, int64(timeout/time.Millisecond)),
	}, true
}

func (c *check) unknown(catalog Catalog, use sandbox.OperationUse) {
	at := sandbox.Place{Line: use.Line, Column: use.Column}
	full := eventlog.ClipName(use.Connector) + "." + eventlog.ClipName(use.Operation)
	if connectors := catalog.Connectors(); slices.Contains(connectors, use.Connector) {
		c.add(sandbox.SeverityError, CodeOperation, didYouMean(catalog.Similar(use.Connector+"."+use.Operation),
			"write one of "+list(written(use.Connector, catalog.Operations(use.Connector)))),
			"connector %s has no operation %s (%s)", eventlog.ClipName(use.Connector), eventlog.ClipName(use.Operation), full)
		c.at(at)
		instead := similar.ByPart(use.Operation, catalog.Operations(use.Connector))
		if close := catalog.Similar(use.Connector + "." + use.Operation); len(close) > 0 {
			_, instead, _ = strings.Cut(close[0], ".")
		}
		if instead != "" {
			c.edit(c.amend().Swap(at, "ctx."+use.Connector+"."+use.Operation, "ctx."+use.Connector+"."+instead))
		}
	} else {
		similar := slices.Concat(catalog.Similar(use.Connector), catalog.Similar(use.Connector+"."+use.Operation))
		fix := didYouMean(similar, "start or configure the connector, or use one of those known: "+list(connectors))
		if advice := lint.Advise(use.Connector); advice != "" && len(similar) == 0 {
			fix = advice + "; or, if a connector is meant, " + fix
		}
		c.add(cmp.Or(c.in.UnknownConnector, sandbox.SeverityError), CodeConnector, fix,
			"there is no connector %s (%s)", eventlog.ClipName(use.Connector), full)
		c.at(at)
		if close := catalog.Similar(use.Connector); len(close) > 0 {
			c.edit(c.amend().Swap(at, "ctx."+use.Connector+".", "ctx."+close[0]+"."))
		}
		c.hint(hint.Connectors)
	}
}

// written is how a script names the operations of a connector.
func written(connector string, operations []string) []string {
	list := make([]string, 0, len(operations))
	for _, operation := range operations {
		list = append(list, "ctx."+connector+"."+operation)
	}
	return list
}

func didYouMean(similar []string, otherwise string) string {
	if len(similar) == 0 {
		return otherwise
	}
	return "did you mean " + strings.Join(similar, " or ") + "? Otherwise: " + otherwise
}

// mutates repeats the check for code after a mutation call: only here is it known which of the calls in a mutate are
// mutations.
func (c *check) mutates() {
	c.found = slices.DeleteFunc(c.found, onecall.IsProblem)
	c.found = append(c.found,
		onecall.Problems(&c.in.Definition, func(connectorName, operation string) sandbox.OperationKind {
			pin, _ := c.accepted.Operation(connectorName, operation)
			return sandbox.OperationKind(pin.Kind)
		})...)
}

// phase refuses an operation where the phase table forbids it (R6, R8). A use whose phase the text
// does not show is judged when it is called.
func (c *check) phase(use sandbox.OperationUse, pin eventlog.Operation) {
	if use.Phase == "" {
		return
	}
	consumer, _ := c.accepted.Consumer(eventlog.Handler(use.Handler))
	kind := sandbox.OperationKind(pin.Kind)
	byID := consumer.MutateReadsByID || c.in.Definition.Lacks("consumers", use.Handler, "mutateReads")
	if sandbox.Allowed(use.Phase, kind, byID) {
		return
	}
	c.refuse(CodePhase, phaseFix(use, kind), "%s.%s is a %s operation and may not be called in %s of %q",
		use.Connector, use.Operation, kind, use.Phase, eventlog.ClipName(use.Handler))
	c.at(sandbox.Place{Line: use.Line, Column: use.Column})
}

// phaseFix says where the operation belongs instead.
func phaseFix(use sandbox.OperationUse, kind sandbox.OperationKind) string {
	switch {
	case kind == sandbox.KindMutate && use.Phase == sandbox.Producer:
		return "publish an event and call it in mutate of the consumer that subscribes to it"
	case kind == sandbox.KindMutate:
		return "call it in mutate, with what prepare returns in data"
	case kind == sandbox.KindGet && use.Phase == sandbox.Mutate:
		return fmt.Sprintf(`read it in prepare and return what mutate needs in data, or declare mutateReads: "byId" on %s`,
			eventlog.ClipName(use.Handler))
	case use.Phase == sandbox.Mutate:
		return "do it in prepare and return what mutate needs in data"
	default:
		return "do it in prepare and return what next needs in data"
	}
}

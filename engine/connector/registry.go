package connector

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// Codes of calls that the configuration of the http connector does not let out. No grant changes that.
const (
	// CodeHost: the host is not configured.
	CodeHost = "http.host"
	// CodeHostPrivate: the host's address is not public, and it is not configured as private.
	CodeHostPrivate = "http.private"
	// CodeHostInsecure: what the host is configured with must not travel unencrypted.
	CodeHostInsecure = "http.insecure"
	// CodeReads: the configuration does not say that a request of this method only reads at the address.
	CodeReads = "http.reads"
)

// CodeDatabase is the failure of a call of the sql connector that names a database which is not configured.
const CodeDatabase = "sql.database"

// Configured names the setting of the engine that has to be corrected to end failures of the code; empty for other
// codes.
func Configured(code string) (setting string) {
	switch code {
	case CodeHost, CodeHostPrivate, CodeHostInsecure, CodeReads:
		return "connectors.http.hosts"
	case CodeDatabase:
		return "connectors.sql.databases"
	}
	return ""
}

// reserved are the names that scripts find on ctx, and Pawl's own, of which "secret" stands for secrets in grants: no
// connector may take them.
var reserved = slices.Concat([]string{"pawl", "secret", sandbox.VarsMember}, sandbox.BuiltinNames)

// ReservedNames lists the names no connector may have: `pawl` and the members of ctx.
func ReservedNames() []string { return slices.Clone(reserved) }

// ValidateName reports whether name may name a connector. The error says what is wrong and what to write
// instead.
func ValidateName(name string) error {
	if err := eventlog.ValidateConnectorName(name); err != nil {
		return fmt.Errorf("connector name %w", err)
	}
	if slices.Contains(reserved, name) {
		return fmt.Errorf("connector name %q is reserved: it belongs to ctx or to pawl itself; use another, e.g. %q",
			name, name+"Tool")
	}
	return nil
}

// Registry holds the connectors by name and is the gate to them: see Read, Perform and Reconcile.
// The zero value is not usable; it is safe for concurrent use.
type Registry struct {
	mu         sync.RWMutex
	connectors map[string]Connector
	late       func(Call, Outcome)
	advice     map[string]string
	schemas    Schemas
}

// NewRegistry makes a registry of the given connectors. It refuses what Add refuses.
func NewRegistry(connectors ...Connector) (*Registry, error) {
	r := &Registry{connectors: make(map[string]Connector, len(connectors))}
	for _, c := range connectors {
		if err := r.Add(c); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Add adds a connector. It refuses a name that is invalid, reserved or taken, and operations whose
// name, kind or schema is unusable.
func (r *Registry) Add(c Connector) error { return r.put(c, false) }

// Replace adds a connector or takes the place of the one with its name, for connectors that come
// and go while the engine runs. It refuses what Add refuses, but a taken name.
func (r *Registry) Replace(c Connector) error { return r.put(c, true) }

func (r *Registry) put(c Connector, replace bool) error {
	if c == nil {
		return errors.New("add connector: it is nil")
	}
	name := c.Name()
	if err := ValidateName(name); err != nil {
		return fmt.Errorf("add connector: %w", err)
	}
	if err := validateOperations(c.Operations()); err != nil {
		return fmt.Errorf("add connector %s: %w", name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.connectors[name]; taken && !replace {
		return fmt.Errorf("add connector %s: there is one of that name already", name)
	}
	r.connectors[name] = c
	return nil
}

func validateOperations(operations []Operation) error {
	seen := make(map[string]bool, len(operations))
	for _, op := range operations {
		if err := eventlog.ValidateConnectorName(op.Name); err != nil {
			return fmt.Errorf("operation name %w", err)
		}
		if seen[op.Name] {
			return fmt.Errorf("operation %s is listed twice", op.Name)
		}
		seen[op.Name] = true
		switch op.Kind {
		case List, Get:
			if op.Reconciles {
				return fmt.Errorf("operation %s is a read and cannot reconcile", op.Name)
			}
		case Mutate:
		default:
			return fmt.Errorf("operation %s has kind %q, want list, get or mutate", op.Name, op.Kind)
		}
		if _, err := CompileSchema(op.Schema); err != nil {
			return fmt.Errorf("operation %s: %w", op.Name, err)
		}
		if _, err := CompileSchema(op.Result); err != nil {
			return fmt.Errorf("result of operation %s: %w", op.Name, err)
		}
	}
	return nil
}

// Remove takes a connector away; calls to it fail as transient from then on. Unknown names are ignored.
func (r *Registry) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.connectors, name)
}

// Advise gives the registry what to tell of connectors that only lack their configuration, by name: how each is
// configured. It is called before the first call.
func (r *Registry) Advise(advice map[string]string) { r.advice = advice }

// OnLate sets the function that gets the outcome of a mutation call which the registry had to
// answer as Uncertain and Open because it did not return in time (F12). It is called once for each,
// when the call has ended, from the call's own goroutine; set it before the first call.
func (r *Registry) OnLate(late func(Call, Outcome)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = late
}

// Names lists the connectors, sorted.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.connectors))
}

// Connector looks a connector up by its name.
func (r *Registry) Connector(name string) (Connector, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	c, ok := r.connectors[name]
	return c, ok
}

// Operation looks up what a connector offers now.
func (r *Registry) Operation(connector, operation string) (Operation, bool) {
	_, op, ok := r.lookup(connector, operation)
	return op, ok
}

func (r *Registry) lookup(connector, operation string) (Connector, Operation, bool) {
	c, ok := r.Connector(connector)
	if !ok {
		return nil, Operation{}, false
	}
	operations := c.Operations()
	for i := range operations { // by index: an Operation is large to copy
		if operations[i].Name == operation {
			return c, operations[i], true
		}
	}
	return c, Operation{}, false
}

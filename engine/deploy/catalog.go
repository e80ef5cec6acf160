package deploy

import "github.com/pawl-run/pawl/engine/connector"

// Catalog knows which connector operations exist now.
type Catalog interface {
	Operation(connector, operation string) (connector.Operation, bool)
	// Connectors lists the connectors' names, sorted.
	Connectors() []string
	// Operations lists a connector's operations in its own order; empty for an unknown one.
	Operations(connector string) []string
	// Similar suggests existing names close to an unknown one, nearest first: operations for
	// `connector.operation`, connectors for a name without a dot.
	Similar(name string) []string
}

// CatalogOf makes a catalog of what a registry holds at each moment.
func CatalogOf(r *connector.Registry) Catalog { return registryCatalog{r} }

type registryCatalog struct{ *connector.Registry }

func (r registryCatalog) Connectors() []string { return r.Names() }

func (r registryCatalog) Operations(name string) []string {
	c, ok := r.Connector(name)
	if !ok {
		return nil
	}
	var names []string
	for _, op := range c.Operations() {
		names = append(names, op.Name)
	}
	return names
}

// emptyCatalog stands for a nil one.
type emptyCatalog struct{}

func (emptyCatalog) Operation(string, string) (connector.Operation, bool) {
	return connector.Operation{}, false
}
func (emptyCatalog) Connectors() []string       { return nil }
func (emptyCatalog) Operations(string) []string { return nil }
func (emptyCatalog) Similar(string) []string    { return nil }

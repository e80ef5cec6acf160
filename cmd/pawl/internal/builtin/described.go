package builtin

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/engine/connector/openapi"
)

// openDescribed makes the connectors of OpenAPI descriptions.
func openDescribed(services map[string]openapi.Config, logger *slog.Logger, onClose func(func() error)) (
	[]connector.Connector, error,
) {
	var list []connector.Connector
	for _, name := range slices.Sorted(maps.Keys(services)) {
		config := services[name]
		config.Name, config.Logger = name, logger
		made, err := openapi.New(config)
		if err != nil {
			return nil, err
		}
		list = append(list, made)
		onClose(made.Close)
	}
	return list, nil
}

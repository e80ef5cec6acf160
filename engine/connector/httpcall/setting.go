package httpcall

import (
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/engine/connector"
)

const hostsKey = "connectors.http.hosts"

// wrongHost is a mistake in a host's settings; the key of a *connector.SettingError is one below them.
func wrongHost(name string, err error) error {
	key := hostsKey + "." + name
	var inside *connector.SettingError
	if errors.As(err, &inside) {
		return &connector.SettingError{Key: key + "." + inside.Key, Err: fmt.Errorf("%s: %w", key, err)}
	}
	return &connector.SettingError{Key: key, Err: fmt.Errorf("%s: %w", key, err)}
}

// wrong is a mistake in the setting of a host that the key names.
func wrong(key, format string, args ...any) error {
	return &connector.SettingError{Key: key, Err: fmt.Errorf(format, args...)}
}

package connector

import (
	"fmt"
	"time"
)

// SettingError says that a setting of a connector cannot be as it is. Its text names the key; Key is
// for the caller, which knows where that stands in a file.
type SettingError struct {
	// Key is the setting's place in the configuration, with dots: connectors.csv.root.
	Key string
	Err error
}

// Error names the setting and what is wrong with it.
func (e *SettingError) Error() string { return e.Err.Error() }

// Unwrap is what is wrong, without the setting.
func (e *SettingError) Unwrap() error { return e.Err }

// CheckTimeout refuses a negative timeout, as a *SettingError
// of the key `connectors.<name>.timeout`. Zero is the connector's own.
func CheckTimeout(name string, timeout time.Duration) error {
	if timeout >= 0 {
		return nil
	}
	key := "connectors." + name + ".timeout"
	return &SettingError{Key: key, Err: fmt.Errorf("%s: %s is negative", key, timeout)}
}

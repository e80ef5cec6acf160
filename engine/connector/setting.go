package connector

// SettingError says that a setting of a connector cannot be as it is. Its text names the key; Key is
// for whoever knows where that stands in a file.
type SettingError struct {
	// Key is the setting's place in the configuration, with dots: connectors.csv.root.
	Key string
	Err error
}

func (e *SettingError) Error() string { return e.Err.Error() }

func (e *SettingError) Unwrap() error { return e.Err }

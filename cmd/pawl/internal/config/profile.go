package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
)

// withProfile is the text of a configuration file merged with one of its profiles: keys with keys below them are
// merged, every other value of the profile replaces that of the file, and a key without a value removes it. The places
// in written become those of the values that count. It refuses a profile that the file does not have, and one that
// holds profiles.
func withProfile(text []byte, name string, written *configText) ([]byte, error) {
	var file map[string]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, exit.Misconfigured("correct the file", "%s", configFault(written.path, err))
	}
	profiles, _ := file["profiles"].(map[string]any)
	if _, known := profiles[name]; !known {
		hint := "it has none: write them under profiles"
		if len(profiles) > 0 {
			hint = "it has: " + strings.Join(slices.Sorted(maps.Keys(profiles)), ", ")
		}
		return nil, exit.Misconfigured(hint, "%s: there is no profile %q", written.place("profiles"), name)
	}
	profile, _ := profiles[name].(map[string]any) // nil for one without keys
	delete(file, "profiles")
	// The result is written as JSON, which is also YAML, and in which no text can be read as a value of another type.
	merged, err := json.Marshal(over(file, profile))
	if err != nil {
		return nil, exit.Failed("", fmt.Errorf("put profile %s over %s: %w", name, written.path, err))
	}
	prefix := "profiles." + name + "."
	for key, at := range maps.Clone(written.places) {
		if own, of := strings.CutPrefix(key, prefix); of {
			written.places[own] = at
		}
	}
	return merged, nil
}

// over merges the values of a profile into those of the file. A key without a value removes that of the file: a profile
// for tests can leave out a mail server.
func over(file, profile map[string]any) map[string]any {
	merged := maps.Clone(file)
	if merged == nil {
		merged = make(map[string]any, len(profile))
	}
	for key, value := range profile {
		below, nested := value.(map[string]any)
		own, same := merged[key].(map[string]any)
		switch {
		case value == nil:
			delete(merged, key)
		case nested && same:
			merged[key] = over(own, below)
		default:
			merged[key] = value
		}
	}
	return merged
}

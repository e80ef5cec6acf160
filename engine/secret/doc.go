// Package secret holds the secrets of an engine's configuration by name.
//
// The values are read in cmd/pawl/internal/config/secrets.go, by the Expand of engine/connector/secrets.go, which also
// fills ${env:...} and ${file:...} into the settings of connectors. A call of http that names a secret gets it in
// engine/connector/httpcall/named.go, for the hosts that the secret lists. A hook gets the one that it verifies with in
// ops/hooks, and an outgoing webhook the one that it is signed with in cmd/pawl/internal/config/outgoing.go.
//
// Guaranteed: a value is given only to code that asks for it by name. Printed, logged or written as JSON, a set shows
// names and never a value.
//
// Not guaranteed: that the caller may ask. A workflow's grants say so (capability.SecretGranted). Nor is a value
// blanked (redacted) here out of what an outside system answers: that is engine/connector/redact.
package secret

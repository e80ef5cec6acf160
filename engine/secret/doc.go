// Package secret holds the secrets of an engine's configuration by name.
//
// Guaranteed: a value is given only to code that asks for it by name. Printed, logged or written as JSON, a set shows
// names and never a value.
//
// Not guaranteed: that the caller may ask. A workflow's grants say so (capability.SecretGranted). Nor is a value
// blanked (redacted) here out of what an outside system answers: that is engine/connector/redact.
package secret

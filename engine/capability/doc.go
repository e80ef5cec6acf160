// Package capability says what a workflow's grants allow: which operations its scripts may call, at which hosts, and
// which secrets they may use. It is pure; grants change in engine/decide.
package capability

// Package starter writes what a new folder of workflows begins with: what `pawl init` does.
//
// Guaranteed: a file that is there stays as it is. Each template validates, its tests pass, and `pawl up` runs it with
// the configuration that is written beside it, but for the hosts and secrets that only its user knows.
package starter

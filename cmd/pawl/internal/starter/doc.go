// Package starter writes the first files of a new folder of workflows, for `pawl init`.
//
// Guaranteed: a file that exists stays as it is. Each template validates, its tests pass, and `pawl up` runs it with
// the configuration that is written beside it, except for the hosts and secrets that only its user knows.
package starter

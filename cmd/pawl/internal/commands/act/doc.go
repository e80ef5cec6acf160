// Package act holds the commands under the heading Act of `pawl --help`: each in the file of its name. They change
// something, in the name of the caller.
//
// Guaranteed: an action that cannot be undone asks first where a person can answer.
package act

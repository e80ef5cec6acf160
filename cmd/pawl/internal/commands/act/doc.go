// Package act holds the commands under the heading Act of `pawl --help`: each in the file of its name. They change
// something, in the name of the caller.
//
// Behind them, bulk_mutations.go acts on one mutation or many, and consequence.go says what that has done. bulk_jobs.go
// chooses the events of an action on jobs, and changed_jobs.go sends them and says what was changed.
//
// Guaranteed: an action that cannot be undone asks first where a person can answer.
package act

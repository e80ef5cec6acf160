// Package global judges the names that a script uses and does not declare, and the variables that it hopes to keep
// from one handler call to the next.
//
// Guaranteed: everything that it finds in a text is a warning, since the script may never reach that place.
package global

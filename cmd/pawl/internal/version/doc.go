// Package version says what was built: `pawl version`.
//
// Guaranteed: it needs no engine. The version is that of the module, else the commit and whether files were changed, as
// the Go tool has written them into the program.
package version

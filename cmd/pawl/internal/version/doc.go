// Package version says what was built: `pawl version`.
package version

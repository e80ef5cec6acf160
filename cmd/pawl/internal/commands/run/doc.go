// Package run holds the commands under the heading Run of `pawl --help`: an engine with given workflows (up), an
// engine alone (serve), and the processes that an engine starts (worker, parse-mail, tool-process).
//
// Guaranteed: `up` deploys a file only when its bytes changed, and a file that is refused keeps no other from running.
package run

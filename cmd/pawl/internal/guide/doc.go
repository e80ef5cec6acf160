// Package guide cuts the page for authors of scripts (sandbox/SCRIPTS.md) into parts that can be read alone: its
// sections and recipes, and the contract on one page, which `pawl init` writes as AGENTS.md for coding agents.
//
// Guaranteed: every word of the contract but its introduction is the page's own, so that there is one source. A link
// that leads elsewhere on the page becomes plain text, since what it leads to is not there.
package guide

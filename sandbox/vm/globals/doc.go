// Package globals adds to a runtime what the interpreter lacks of the language and its surroundings, or gets wrong:
// URL, Intl, TextEncoder, crypto.randomUUID, structuredClone, helpers of iterators and others.
//
// Guaranteed: a runtime gets only what the text of its script names (Named), and most of it is made at the first use.
// What takes long or much memory is bounded. Nothing is read from the machine: zones and locales are in the program.
//
// A script may replace what it finds; that harms its own runtime alone.
package globals

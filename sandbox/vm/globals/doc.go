// Package globals adds to a runtime what the interpreter lacks of the language and its surroundings, or gets wrong:
// URL, Intl, TextEncoder, crypto.randomUUID, structuredClone, helpers of iterators and others.
//
// Guaranteed: a runtime gets only what the text of its script names (Named), and most of it is made at the first use.
// What takes long or much memory is bounded. Nothing is read from the machine: zones and locales are in the program.
//
// js/intl.js is the part of Intl that reads options: the order of getters and the conversions that the language
// prescribes are the language's own there, and script code that they run stays inside the runtime. The interpreter
// (goja of September 2026) has no Intl, and its toLocale methods are wrong: Number.prototype.toLocaleString takes the
// locale for a radix, and those of Date ignore locale and zone.
//
// A script may replace what it finds; that harms its own runtime alone.
package globals

// Package intl writes numbers and dates as people of a locale write them, for scripts.
//
// Guaranteed:
//   - What it writes is what Node 20 writes for the same locale and options. The tests compare it with
//     frozen output of Node.
//   - What it does not know, a locale, a currency, a zone or an option, is an error that says what there
//     is instead. Nothing is ignored and nothing falls back in silence.
//   - It opens no files as long as the zones of the embedded time/tzdata are enough, and is safe for
//     concurrent use.
//
// Not guaranteed: eras, calendars other than the Gregorian and digits other than 0-9; names of zones
// other than UTC, because what a zone was called depends on the year. They are errors.
//
// The knowledge is in locales.json, which generate.mjs writes with Node.
package intl

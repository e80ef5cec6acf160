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
//
// Why it is not reduced to en-US: ECMA-402 would let another locale fall back to en-US in silence, so an amount written
// for "de-DE" as 1.234,50 would be sent as 1,234.50, which its reader takes for another amount. Deployed scripts ask
// for "en-CA" days and for money in the locale of the customer. The price was measured in November 2026: locales.json
// has 114 KB of a program of 54 MB (the other 322 KB in this folder are test data), a program that names no locale
// reads none of it, and the first use in a process takes about 1 ms for the index and 0.2 ms for each locale.
package intl

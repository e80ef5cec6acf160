// Package redact blanks the secrets of a configuration out of what an outside system answers, before a script or the
// log sees it: as they are, percent-encoded, in JSON and in base64, also inside of other text.
//
// Not guaranteed: that an outside system which hides a secret on purpose, in another encoding, is seen through. A value
// of fewer than Shortest bytes is not blanked, since half of every answer would be.
package redact

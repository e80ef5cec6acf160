// Package doctor says what of an installation is not as it should be, and what to do about it.
//
// Guaranteed: looking changes nothing. Each finding that is not in order names a remedy. What cannot be seen from here
// is said to be unknown, never to be in order.
package doctor

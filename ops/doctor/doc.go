// Package doctor finds what is wrong with an installation, and says what to do about it.
//
// Guaranteed: looking changes nothing. Each finding about something wrong names a remedy. Something that cannot be seen
// from here is reported as unknown, never as in order.
package doctor

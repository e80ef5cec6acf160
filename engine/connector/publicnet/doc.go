// Package publicnet tells public addresses from those that lead into a private network, for programs that dial what a
// configuration, a script or another system names.
//
// Guaranteed: [Control] looks at the address that is dialled, after its name was resolved, so neither a redirect nor a
// name that resolves differently the second time gets round it. [LoopbackOnly] does the same where a
// password goes unencrypted: package loopback decides to which hosts it may go, and one of these, localhost, is a name
// that may lead elsewhere.
//
// Not guaranteed: that a public address leads to the system that is meant; TLS says that.
package publicnet

// Package publicnet tells public addresses from those that lead into a private network, for programs that dial what a
// configuration, a script or another system names.
//
// Guaranteed: [Control] looks at the address that is dialled, after its name was resolved, so neither a redirect nor a
// name that resolves differently the second time gets round it. [IsLoopback] is the one place that decides whether a
// password may travel unencrypted; [LoopbackOnly] looks, in the same way, where the name of such a host leads.
//
// Not guaranteed: that a public address leads to the system that is meant; TLS says that.
package publicnet

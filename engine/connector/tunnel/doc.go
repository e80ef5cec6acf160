// Package tunnel opens connections to other systems through an HTTP proxy.
//
// Guaranteed: a request goes over the connection as it would without the proxy. The proxy is only asked to connect
// (CONNECT, for http too), so it cannot repeat a request, and it sees nothing of one by https. A proxy is used only
// where a configuration names it, never one of the environment. No error shows the password.
//
// Not guaranteed: that the connection leads to a public address. The proxy resolves the name of the host, so only an
// address that stands in the configuration itself is looked at.
package tunnel

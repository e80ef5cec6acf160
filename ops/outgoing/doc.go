// Package outgoing posts outgoing webhooks: messages to the addresses of other systems, signed as Standard Webhooks
// (https://www.standardwebhooks.com) says.
//
// Guaranteed: a message goes to the configured address alone, over TLS unless the target is private. No redirect is
// followed, and an address that is not public is refused when it is dialled. A proxy is used only where the
// configuration names it; package tunnel says what is guaranteed then. The signature covers the whole body with its id
// and time, with one signature for each value of the secret. An attempt ends within the target's timeout, and reads at
// most 4 KiB of an answer. No error shows the path of the address, which may be a secret, or a value that was filled
// into the configuration.
//
// Not guaranteed: that the receiver gets a message only once. An attempt whose answer is lost counts as failed, and
// the caller sends the same message again, with the same id.
package outgoing

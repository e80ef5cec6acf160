// Package mcpcall makes connectors of MCP servers: programs that speak the Model Context Protocol on their standard
// streams, and servers that speak it over streamable HTTP. Each tool of a server is an operation; one that says of
// itself that it only reads is a read, every other one a mutation.
//
// Guaranteed: a mutation is one request on the wire. It is written once, after the gate was asked, by one line for
// each transport (wire.go); nothing of it is sent again, also not where a server asks for more input. A call that was
// not written is a definite failure; whatever comes after it, an error of the tool too, is uncertain, unless the
// configuration promises that a tool which answers an error has changed nothing, or the server refused the request
// itself. A server at a URL is sent the headers of the configuration, and no other address is asked; secrets are
// blanked out of answers. A process has of this machine what the configuration names, of this process's environment
// PATH alone, and ends with the connector and with all that it has started, and so does one that answers neither a
// call nor a ping. The tools that a server has are looked at again whenever it says that they have changed.
//
// Not guaranteed: that a server tells the truth about its tools; the configuration can say otherwise. That it honours
// the idempotency key and the deadline, which it is sent in _meta. That a process is confined where the system has no
// Landlock: then the log says so.
package mcpcall

// Package openapi makes connectors of OpenAPI descriptions: each operation of a description is one of the connector, a
// GET as a read, every other method as a mutation, with the schemas of its parameters and of its result.
//
// Guaranteed: requests are those of package httpcall, which alone sends them, with its rules of what is certain. They
// go to the URL of the configuration, whatever servers the description names. A description reads no other file and
// asks no host: a reference beyond itself is refused. What it makes is bounded, in operations and in schemas. An
// operation that cannot be called as it is described is left out, and the log says why.
//
// Not guaranteed: that the description is true. A recursive schema accepts anything where it comes to itself again.
// What became of a mutation is asked only where the configuration says how.
package openapi

// Package pack writes structs as msgpack. It is the hot half of a codec: each transition and each
// row of the local store is encoded once, and few are ever read.
//
// Guaranteed:
//
//   - [Named] and [Positional] write what github.com/vmihailenco/msgpack/v5 writes, byte by byte:
//     with its defaults, and with UseArrayEncodedStructs and UseCompactInts. That library reads it.
//     Only the order of a map's entries differs: here it is always by key.
//   - A type is looked at once, when it is first met. One that cannot be written the same (a custom
//     encoder, an interface, a float, an embedded struct) is refused then, and never written
//     differently.
//   - Writing allocates nothing but what the bytes need.
package pack

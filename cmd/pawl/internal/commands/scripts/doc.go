// Package scripts holds the commands under the heading Scripts of `pawl --help`: each in the file of its name.
//
// Guaranteed: test, validate, types and init work without an engine and call nothing outside: connectors are only asked
// what they offer and what they refuse. init leaves a file alone that is there already.
package scripts

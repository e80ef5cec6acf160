// Package source reads the scripts that commands are given, and prints what is wrong with them as a compiler does.
//
// Guaranteed: a script is taken byte for byte, and refused if it is not UTF-8.
package source

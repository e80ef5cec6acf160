// Package similar finds the known names that are close to a name which does not exist, and the members of a
// definition that are meant by other names.
//
// Guaranteed: the answer depends on its arguments alone, and the nearest name comes first. Names that share too little
// with what was written are not suggested, unless other tools use the written name for the same thing.
package similar

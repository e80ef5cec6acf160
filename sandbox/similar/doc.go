// Package similar finds the known names that are close to a name which does not exist, and the members of a
// definition that are meant by other names.
//
// Guaranteed: the answer depends on its arguments alone, the nearest name comes first, and names that
// share too little with what was written are not suggested at all.
package similar

// Package flow follows a value through the text of a script: through names, members, patterns, loops and the methods
// of lists.
//
// Guaranteed:
//   - What the caller is told of is the value or a part of it, wherever the text shows it.
//   - What a function of the script returns is followed for each of its calls separately: Site tells them apart.
//   - A flow ends: it has bounds for a script that names a value in very many places.
//
// Not guaranteed: that it finds each use. What it does not follow it leaves out.
package flow

// Package finding lists what is wrong with a script: each problem once, with its place, its fix in words and the edit
// that mends it.
//
// Guaranteed: one script has at most MaxProblems problems and one that counts the others, errors before warnings.
package finding

package sandbox

import "strings"

// ListMembers are the members that every list of a script has. The checks of a script report what is taken of a list
// and is not among them.
var ListMembers = strings.Fields("length constructor at concat copyWithin entries every fill filter find findIndex " +
	"findLast findLastIndex flat flatMap forEach includes indexOf join keys lastIndexOf map pop push reduce " +
	"reduceRight reverse shift slice some sort splice toLocaleString toReversed toSorted toSpliced toString " +
	"unshift values with")

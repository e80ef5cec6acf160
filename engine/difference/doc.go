// Package difference says how two JSON values differ, member by member.
//
// Guaranteed: the differences are in the order of the members' names and of the items' places, each with the path of
// what differs. Numbers are compared by value, and an item of a list with the one at the same place.
package difference

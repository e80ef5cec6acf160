// Package term prints the output of the commands of pawl for a person: tables, fields, colour, and the lines that say
// what an engine does.
//
// Guaranteed: text that came from outside cannot steer a terminal (OneLine): no control character and no override of
// the direction of writing reaches it. Without a terminal there are no colours and no frames: a table is lines of
// fields that tabs separate, oldest first. Output remembers the first write that failed, so a result that was lost is
// no success. A Printer never blocks its caller: it counts and leaves out the lines that the reader is too slow for.
// Progress shows and counts only what was recorded after this process opened the log, and shows no payload.
//
// Not guaranteed: the wording, which is for people. Programs read the JSON that the HTTP interface answers.
package term
